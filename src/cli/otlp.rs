//! Where traces go, by our own flags, by OpenTelemetry's environment, or by descheduler's flags.

use std::path::PathBuf;
use std::time::Duration;

use jiff::SignedDuration;
use reqwest::Url;

use crate::daemon::telemetry::traces::Settings;
use crate::daemon::telemetry::traces::collector::{Collector, Protocol, headers};
use crate::values::Ratio;

use super::Misuse;

/// How long one batch may take, as OpenTelemetry has it.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Traces, off unless there is an endpoint. Everything is text, for a variable of the environment that is empty counts as
/// none.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Traces")]
#[expect(clippy::struct_field_names, reason = "they are the names of the flags")]
pub(super) struct Otlp {
    /// Send traces to this collector by OTLP: cycles, their phases down to each eviction, and polls, such as
    /// http://collector:4318 [default: none are sent]
    #[arg(
        long,
        value_name = "URL",
        env = "OTEL_EXPORTER_OTLP_ENDPOINT",
        hide_env_values = true
    )]
    otlp_endpoint: Option<String>,
    /// grpc or http/protobuf [default: grpc at port 4317, or else http/protobuf]
    #[arg(
        long,
        value_name = "PROTOCOL",
        env = "OTEL_EXPORTER_OTLP_PROTOCOL",
        hide_env_values = true
    )]
    otlp_protocol: Option<String>,
    /// Authorities whose certificates to trust, as PEM [default: those of the system]
    #[arg(
        long,
        value_name = "FILE",
        env = "OTEL_EXPORTER_OTLP_CERTIFICATE",
        hide_env_values = true
    )]
    otlp_ca_file: Option<String>,
    /// What to send along, such as `authorization=Bearer%20abc`; better by the environment, where others do not see it
    #[arg(
        long,
        value_name = "NAME=VALUE,…",
        env = "OTEL_EXPORTER_OTLP_HEADERS",
        hide_env_values = true
    )]
    otlp_headers: Option<String>,
    /// How long to try to send a batch: a duration, or milliseconds [default: 10s]
    #[arg(
        long,
        value_name = "DURATION",
        env = "OTEL_EXPORTER_OTLP_TIMEOUT",
        hide_env_values = true
    )]
    otlp_timeout: Option<String>,
    /// The name to send traces by [default: evenkeel]
    #[arg(
        long,
        value_name = "NAME",
        env = "OTEL_SERVICE_NAME",
        hide_env_values = true
    )]
    otlp_service_name: Option<String>,
    /// The share of traces to send, from 0 to 1 [default: what OTEL_TRACES_SAMPLER says, or 1]
    #[arg(long, value_name = "RATIO")]
    otlp_sample_ratio: Option<String>,
}

/// The same as descheduler takes it.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "As descheduler")]
#[expect(clippy::struct_field_names, reason = "they are the names of the flags")]
pub(super) struct AsDescheduler {
    /// Send traces to this collector by gRPC
    #[arg(long, value_name = "HOST:PORT")]
    otel_collector_endpoint: Option<String>,
    /// The authority of its certificate, as --otlp-ca-file; without one there is no TLS
    #[arg(long, value_name = "FILE")]
    otel_transport_ca_cert: Option<String>,
    /// As --otlp-service-name
    #[arg(long, value_name = "NAME")]
    otel_service_name: Option<String>,
    /// The `service.namespace` of traces
    #[arg(long, value_name = "NAME")]
    otel_trace_namespace: Option<String>,
    /// As --otlp-sample-ratio
    #[arg(long, value_name = "RATIO")]
    otel_sample_rate: Option<String>,
    /// Go on without traces where they cannot be set up
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub(super) otel_fallback_no_op_on_error: Option<bool>,
}

impl Otlp {
    /// What to send where; `None` where traces are off. What is typed as descheduler takes it counts for more than the
    /// environment.
    pub(super) fn settings(
        &self,
        theirs: &AsDescheduler,
        instance: &str,
    ) -> Result<Option<Settings>, Misuse> {
        let Some(collector) = self.collector(theirs)? else {
            return Ok(None);
        };
        let share = match (
            given(theirs.otel_sample_rate.as_deref()),
            given(self.otlp_sample_ratio.as_deref()),
        ) {
            (Some(text), _) => Some(ratio("--otel-sample-rate", text)?),
            (None, Some(text)) => Some(ratio("--otlp-sample-ratio", text)?),
            (None, None) => None,
        };
        let service =
            given(theirs.otel_service_name.as_deref()).or(given(self.otlp_service_name.as_deref()));
        Ok(Some(Settings {
            collector,
            service: service.map(str::to_owned),
            namespace: given(theirs.otel_trace_namespace.as_deref()).map(str::to_owned),
            instance: instance.to_owned(),
            share,
        }))
    }

    fn collector(&self, theirs: &AsDescheduler) -> Result<Option<Collector>, Misuse> {
        let authority = given(theirs.otel_transport_ca_cert.as_deref())
            .or(given(self.otlp_ca_file.as_deref()))
            .map(PathBuf::from);
        let (endpoint, protocol) = match (
            given(theirs.otel_collector_endpoint.as_deref()),
            given(self.otlp_endpoint.as_deref()),
        ) {
            (Some(place), _) => {
                let scheme = if given(theirs.otel_transport_ca_cert.as_deref()).is_some() {
                    "https"
                } else {
                    "http"
                };
                let whole = if place.contains("://") {
                    place.to_owned()
                } else {
                    format!("{scheme}://{place}")
                };
                (
                    url(
                        "--otel-collector-endpoint",
                        place,
                        &whole,
                        "an address such as collector:4317",
                    )?,
                    Some("grpc"),
                )
            }
            (None, Some(text)) => (
                url(
                    "--otlp-endpoint",
                    text,
                    text,
                    "a URL such as http://collector:4318",
                )?,
                given(self.otlp_protocol.as_deref()),
            ),
            (None, None) => return Ok(None),
        };
        let found = protocol.unwrap_or_default();
        let protocol = Protocol::named(protocol, &endpoint).ok_or_else(|| {
            Misuse(format!(
                "--otlp-protocol: found {found:?}, expected grpc or http/protobuf"
            ))
        })?;
        let headers = headers(given(self.otlp_headers.as_deref()).unwrap_or_default());
        Ok(Some(Collector {
            url: protocol.place(&endpoint),
            protocol,
            authority,
            headers: headers.map_err(|why| {
                Misuse(format!(
                    "--otlp-headers: {why}; expected name=value, with commas between"
                ))
            })?,
            timeout: given(self.otlp_timeout.as_deref()).map_or(Ok(TIMEOUT), timeout)?,
        }))
    }
}

/// A value, where it is one.
fn given(value: Option<&str>) -> Option<&str> {
    value.map(str::trim).filter(|value| !value.is_empty())
}

fn url(flag: &str, found: &str, whole: &str, expected: &str) -> Result<Url, Misuse> {
    let parsed = Url::parse(whole)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    parsed.ok_or_else(|| Misuse(format!("{flag}: found {found:?}, expected {expected}")))
}

fn ratio(flag: &str, text: &str) -> Result<Ratio, Misuse> {
    let share: Option<f64> = text.parse().ok();
    let sound = share
        .filter(|share| (0.0..=1.0).contains(share))
        .and_then(Ratio::new);
    sound.ok_or_else(|| {
        Misuse(format!(
            "{flag}: found {text:?}, expected a number from 0 to 1"
        ))
    })
}

/// OpenTelemetry's environment has plain milliseconds.
fn timeout(text: &str) -> Result<Duration, Misuse> {
    let millis = text.parse().ok().map(Duration::from_millis);
    let parsed = millis.or_else(|| Duration::try_from(text.parse::<SignedDuration>().ok()?).ok());
    let sound = parsed.filter(|timeout| (1..=300_000).contains(&timeout.as_millis()));
    sound.ok_or_else(|| {
        Misuse(format!(
            "--otlp-timeout: found {text:?}, expected a duration up to 5m, such as 10s"
        ))
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Only {
        #[command(flatten)]
        ours: Otlp,
        #[command(flatten)]
        theirs: AsDescheduler,
    }

    fn settings(line: &str) -> Result<Option<Settings>, String> {
        let only = Only::try_parse_from(format!("evenkeel {line}").split_whitespace()).unwrap();
        only.ours
            .settings(&only.theirs, "me")
            .map_err(|misuse| misuse.to_string())
    }

    /// Protocol and place, or what is said against it.
    fn place(line: &str) -> String {
        match settings(line) {
            Ok(Some(found)) => format!("{:?} {}", found.collector.protocol, found.collector.url),
            Ok(None) => "off".to_owned(),
            Err(said) => said,
        }
    }

    #[test]
    fn an_endpoint_is_a_place_and_a_protocol() {
        let grpc = "opentelemetry.proto.collector.trace.v1.TraceService/Export";
        for (line, expected) in [
            ("", "off".to_owned()),
            ("--otlp-endpoint=", "off".to_owned()),
            (
                "--otlp-endpoint http://c:4318",
                "Http http://c:4318/v1/traces".to_owned(),
            ),
            (
                "--otlp-endpoint https://c/otlp/",
                "Http https://c/otlp/v1/traces".to_owned(),
            ),
            (
                "--otlp-endpoint https://c/v1/traces",
                "Http https://c/v1/traces".to_owned(),
            ),
            (
                "--otlp-endpoint http://c:4317",
                format!("Grpc http://c:4317/{grpc}"),
            ),
            (
                "--otlp-endpoint http://c:4317 --otlp-protocol http/protobuf",
                "Http http://c:4317/v1/traces".to_owned(),
            ),
            (
                "--otlp-endpoint https://c --otlp-protocol grpc",
                format!("Grpc https://c/{grpc}"),
            ),
            (
                "--otel-collector-endpoint c:9999",
                format!("Grpc http://c:9999/{grpc}"),
            ),
            (
                "--otel-collector-endpoint [::1]:1 --otel-transport-ca-cert f",
                format!("Grpc https://[::1]:1/{grpc}"),
            ),
            (
                "--otel-collector-endpoint a:1 --otlp-endpoint http://b:2",
                format!("Grpc http://a:1/{grpc}"),
            ),
        ] {
            assert_eq!(place(line), expected, "{line}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_in_words() {
        for (line, expected) in [
            (
                "--otlp-endpoint c:4317",
                r#"--otlp-endpoint: found "c:4317", expected a URL such as http://collector:4318"#,
            ),
            (
                "--otlp-endpoint http://",
                r#"--otlp-endpoint: found "http://", expected a URL such as"#,
            ),
            (
                "--otel-collector-endpoint c:port",
                "expected an address such as collector:4317",
            ),
            (
                "--otlp-protocol http/json",
                r#"--otlp-protocol: found "http/json", expected grpc or http/protobuf"#,
            ),
            (
                "--otlp-sample-ratio 1.1",
                r#"--otlp-sample-ratio: found "1.1", expected a number from 0 to 1"#,
            ),
            (
                "--otel-sample-rate NaN",
                r#"--otel-sample-rate: found "NaN", expected a number from 0 to 1"#,
            ),
            (
                "--otlp-timeout soon",
                r#"--otlp-timeout: found "soon", expected a duration up to 5m, such as 10s"#,
            ),
            (
                "--otlp-headers a=b,secret",
                "--otlp-headers: number 2 has no =; expected name=value, with commas between",
            ),
            (
                "--otlp-headers a=%0A",
                "--otlp-headers: the value of a cannot be sent",
            ),
        ] {
            let whole = if line.contains("endpoint") {
                line.to_owned()
            } else {
                format!("--otlp-endpoint http://c {line}")
            };
            let said = settings(&whole).unwrap_err();
            assert!(said.contains(expected), "{line}: {said}");
        }
    }

    #[test]
    fn headers_and_times_are_read_as_opentelemetry_has_them() {
        let found = settings(
            "--otlp-endpoint http://c --otlp-headers a=b%20c,X-Tenant=t= --otlp-timeout 2500",
        );
        let found = found.unwrap().unwrap();
        let value = |name| found.collector.headers.get(name).unwrap().to_str().unwrap();
        assert_eq!((value("a"), value("x-tenant")), ("b c", "t="));
        assert_eq!(found.collector.timeout, Duration::from_millis(2500));
        let all = "--otel-collector-endpoint c:1 --otel-service-name s --otel-trace-namespace n --otel-sample-rate 0.5";
        let found = settings(all).unwrap().unwrap();
        assert_eq!(
            (found.service.as_deref(), found.namespace.as_deref()),
            (Some("s"), Some("n"))
        );
        assert_eq!(
            (
                found.share.unwrap().get().to_string(),
                found.instance.as_str()
            ),
            ("0.5".to_owned(), "me")
        );
    }
}
