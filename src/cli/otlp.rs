//! Where traces go: our own flags, OpenTelemetry's environment variables, and descheduler's flags.

use std::path::PathBuf;
use std::time::Duration;

use jiff::SignedDuration;
use reqwest::Url;

use crate::telemetry::traces::TraceSettings;
use crate::telemetry::traces::collector::{Collector, headers, traces_url};
use crate::values::Ratio;

use super::Misuse;
use super::parse::BooleanFlag;

/// OpenTelemetry's default time for one batch.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Longest time for one batch.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(300);

/// Port at which collectors take OTLP over gRPC, and nothing else.
const GRPC_PORT: u16 = 4317;

/// Appended to errors about gRPC.
const USE_HTTP: &str = "evenkeel sends OTLP over HTTP, use the collector's HTTP port, usually 4318";

/// Flags for traces, which are off unless there is an endpoint. All values are text, because an
/// empty environment variable counts as unset.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Traces")]
#[expect(clippy::struct_field_names, reason = "they are the names of the flags")]
pub(super) struct OtlpFlags {
    /// Send traces to this collector by OTLP over HTTP, such as http://collector:4318. Spans cover
    /// cycles, their phases, each eviction, and polls [default: off]
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT", hide_env_values = true)]
    otlp_endpoint: Option<String>,
    /// Only http/protobuf is supported, not grpc [default: http/protobuf]
    #[arg(
        long,
        value_name = "PROTOCOL",
        env = "OTEL_EXPORTER_OTLP_PROTOCOL",
        hide_env_values = true
    )]
    otlp_protocol: Option<String>,
    /// Trust the certificate authorities in this PEM file [default: those of the system]
    #[arg(
        long,
        value_name = "FILE",
        env = "OTEL_EXPORTER_OTLP_CERTIFICATE",
        hide_env_values = true
    )]
    otlp_ca_file: Option<String>,
    /// Headers of each request, such as `authorization=Bearer%20abc`. Set secrets in the
    /// environment, where other processes cannot read them
    #[arg(
        long,
        value_name = "NAME=VALUE,…",
        env = "OTEL_EXPORTER_OTLP_HEADERS",
        hide_env_values = true
    )]
    otlp_headers: Option<String>,
    /// Time for one batch with its retries, as a duration or in milliseconds [default: 10s]
    #[arg(
        long,
        value_name = "DURATION",
        env = "OTEL_EXPORTER_OTLP_TIMEOUT",
        hide_env_values = true
    )]
    otlp_timeout: Option<String>,
    /// The `service.name` of traces [default: evenkeel]
    #[arg(long, value_name = "NAME", env = "OTEL_SERVICE_NAME", hide_env_values = true)]
    otlp_service_name: Option<String>,
    /// Share of traces to send, from 0 to 1 [default: the value of OTEL_TRACES_SAMPLER, or 1]
    #[arg(long, value_name = "RATIO")]
    otlp_sample_ratio: Option<String>,
}

/// Descheduler's flags for traces.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "As descheduler")]
#[expect(clippy::struct_field_names, reason = "they are the names of the flags")]
pub(super) struct OtelFlags {
    /// Send traces to this collector by OTLP over HTTP. Descheduler sends gRPC: replace port 4317
    /// by 4318
    #[arg(long, value_name = "HOST:PORT")]
    otel_collector_endpoint: Option<String>,
    /// Same as --otlp-ca-file; without it the connection has no TLS
    #[arg(long, value_name = "FILE")]
    otel_transport_ca_cert: Option<String>,
    /// Same as --otlp-service-name
    #[arg(long, value_name = "NAME")]
    otel_service_name: Option<String>,
    /// The `service.namespace` of traces
    #[arg(long, value_name = "NAME")]
    otel_trace_namespace: Option<String>,
    /// Same as --otlp-sample-ratio
    #[arg(long, value_name = "RATIO")]
    otel_sample_rate: Option<String>,
    /// Continue without traces if they cannot be set up
    #[arg(long, boolean())]
    pub(super) otel_fallback_no_op_on_error: Option<bool>,
}

/// Where requests go, and the flag that says so.
struct Endpoint {
    flag: &'static str,
    url: Url,
}

impl OtlpFlags {
    /// Returns the settings of traces; `None` if they are off. Descheduler's flags take precedence
    /// over our flags, whose values may come from the environment.
    pub(super) fn settings(
        &self,
        otel: &OtelFlags,
        instance: &str,
    ) -> Result<Option<TraceSettings>, Misuse> {
        let Some(collector) = self.collector(otel)? else {
            return Ok(None);
        };
        let service =
            given(otel.otel_service_name.as_ref()).or(given(self.otlp_service_name.as_ref()));
        Ok(Some(TraceSettings {
            collector,
            service: service.map(str::to_owned),
            namespace: given(otel.otel_trace_namespace.as_ref()).map(str::to_owned),
            instance: instance.to_owned(),
            share: self.share(otel)?,
        }))
    }

    fn share(&self, otel: &OtelFlags) -> Result<Option<Ratio>, Misuse> {
        if let Some(text) = given(otel.otel_sample_rate.as_ref()) {
            return ratio("--otel-sample-rate", text).map(Some);
        }
        given(self.otlp_sample_ratio.as_ref())
            .map(|text| ratio("--otlp-sample-ratio", text))
            .transpose()
    }

    fn collector(&self, otel: &OtelFlags) -> Result<Option<Collector>, Misuse> {
        let Some(endpoint) = otel.endpoint().or_else(|| self.endpoint()).transpose()? else {
            return Ok(None);
        };
        // The most common mistake. A gRPC port answers HTTP only with an unreadable error, after
        // the start.
        if endpoint.url.port() == Some(GRPC_PORT) && given(self.otlp_protocol.as_ref()).is_none() {
            return Err(Misuse(format!("{}: port 4317 takes gRPC; {USE_HTTP}", endpoint.flag)));
        }
        self.check_protocol()?;
        let ca_file =
            given(otel.otel_transport_ca_cert.as_ref()).or(given(self.otlp_ca_file.as_ref()));
        let headers = headers(given(self.otlp_headers.as_ref()).unwrap_or_default());
        Ok(Some(Collector {
            url: traces_url(&endpoint.url),
            ca_file: ca_file.map(PathBuf::from),
            headers: headers.map_err(|reason| {
                Misuse(format!("--otlp-headers: {reason}; expected name=value,name=value"))
            })?,
            timeout: given(self.otlp_timeout.as_ref()).map_or(Ok(TIMEOUT), timeout)?,
        }))
    }

    fn endpoint(&self) -> Option<Result<Endpoint, Misuse>> {
        let text = given(self.otlp_endpoint.as_ref())?;
        Some(endpoint("--otlp-endpoint", text, text, "a URL such as http://collector:4318"))
    }

    fn check_protocol(&self) -> Result<(), Misuse> {
        match given(self.otlp_protocol.as_ref()) {
            None | Some("http/protobuf") => Ok(()),
            Some("grpc") => {
                Err(Misuse(format!("--otlp-protocol: grpc is not supported; {USE_HTTP}")))
            }
            Some(other) => {
                Err(Misuse(format!("--otlp-protocol: found {other:?}, expected http/protobuf")))
            }
        }
    }
}

impl OtelFlags {
    /// Descheduler takes an address without a scheme, and uses TLS if it is given an authority.
    fn endpoint(&self) -> Option<Result<Endpoint, Misuse>> {
        let text = given(self.otel_collector_endpoint.as_ref())?;
        let has_ca = given(self.otel_transport_ca_cert.as_ref()).is_some();
        let scheme = if has_ca { "https" } else { "http" };
        let url = if text.contains("://") { text.to_owned() } else { format!("{scheme}://{text}") };
        let expected = "an address such as collector:4318";
        Some(endpoint("--otel-collector-endpoint", text, &url, expected))
    }
}

/// Returns a value unless it is empty.
fn given(value: Option<&String>) -> Option<&str> {
    value.map(|value| value.trim()).filter(|value| !value.is_empty())
}

fn endpoint(flag: &'static str, text: &str, url: &str, expected: &str) -> Result<Endpoint, Misuse> {
    let url = Url::parse(url)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or_else(|| Misuse(format!("{flag}: found {text:?}, expected {expected}")))?;
    Ok(Endpoint { flag, url })
}

fn ratio(flag: &str, text: &str) -> Result<Ratio, Misuse> {
    let share: Option<f64> = text.parse().ok();
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .and_then(Ratio::new)
        .ok_or_else(|| Misuse(format!("{flag}: found {text:?}, expected a number from 0 to 1")))
}

/// Parses a duration, or the plain milliseconds of OpenTelemetry's environment variable.
fn timeout(text: &str) -> Result<Duration, Misuse> {
    let millis = text.parse().ok().map(Duration::from_millis);
    millis
        .or_else(|| Duration::try_from(text.parse::<SignedDuration>().ok()?).ok())
        .filter(|timeout| (Duration::from_millis(1)..=LONGEST_TIMEOUT).contains(timeout))
        .ok_or_else(|| {
            let expected = "expected a duration up to 5m, such as 10s";
            Misuse(format!("--otlp-timeout: found {text:?}, {expected}"))
        })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct TraceFlags {
        #[command(flatten)]
        otlp: OtlpFlags,
        #[command(flatten)]
        otel: OtelFlags,
    }

    fn settings(line: &str) -> Result<Option<TraceSettings>, String> {
        let words = format!("evenkeel {line}");
        let flags = TraceFlags::try_parse_from(words.split_whitespace()).unwrap();
        flags.otlp.settings(&flags.otel, "me").map_err(|misuse| misuse.to_string())
    }

    /// Flags, and the URL of requests or a part of the error.
    const LINES: &str = r#"
     => off
    --otlp-endpoint= => off
    --otlp-endpoint http://c:4318 => http://c:4318/v1/traces
    --otlp-endpoint https://c/otlp/ => https://c/otlp/v1/traces
    --otlp-endpoint https://c/v1/traces => https://c/v1/traces
    --otlp-endpoint http://c:4317 --otlp-protocol http/protobuf => http://c:4317/v1/traces
    --otel-collector-endpoint c:9999 => http://c:9999/v1/traces
    --otel-collector-endpoint [::1]:1 --otel-transport-ca-cert f => https://[::1]:1/v1/traces
    --otel-collector-endpoint a:1 --otlp-endpoint http://b:2 => http://a:1/v1/traces
    --otlp-endpoint http://c:4317 => --otlp-endpoint: port 4317 takes gRPC; evenkeel sends OTLP over HTTP, use the collector's HTTP port, usually 4318
    --otel-collector-endpoint c:4317 => --otel-collector-endpoint: port 4317 takes gRPC; evenkeel
    --otlp-endpoint https://c --otlp-protocol grpc => --otlp-protocol: grpc is not supported; evenkeel
    --otlp-endpoint c:4318 => --otlp-endpoint: found "c:4318", expected a URL such as http://collector:4318
    --otlp-endpoint http:// => --otlp-endpoint: found "http://", expected a URL such as
    --otel-collector-endpoint c:port => expected an address such as collector:4318
    --otlp-endpoint http://c --otlp-protocol http/json => --otlp-protocol: found "http/json", expected http/protobuf
    --otlp-endpoint http://c --otlp-sample-ratio 1.1 => --otlp-sample-ratio: found "1.1", expected a number from 0 to 1
    --otlp-endpoint http://c --otel-sample-rate NaN => --otel-sample-rate: found "NaN", expected a number from 0 to 1
    --otlp-endpoint http://c --otlp-timeout soon => --otlp-timeout: found "soon", expected a duration up to 5m, such as 10s
    --otlp-endpoint http://c --otlp-headers a=b,secret => --otlp-headers: header 2 has no '='; expected name=value,name=value
    --otlp-endpoint http://c --otlp-headers a=%0A => --otlp-headers: the value of a is not a valid header value
    "#;

    #[test]
    fn flags_give_the_url_of_traces_or_an_error() {
        for line in LINES.lines().filter(|line| line.contains("=> ")) {
            let (flags, expected) = line.trim_start().split_once("=> ").unwrap();
            match settings(flags) {
                Ok(Some(settings)) => assert_eq!(settings.collector.url.as_str(), expected),
                Ok(None) => assert_eq!(expected, "off", "{flags}"),
                Err(error) => assert!(error.contains(expected), "{flags}: {error}"),
            }
        }
    }

    #[test]
    fn headers_and_times_have_the_format_of_opentelemetry() {
        let flags =
            "--otlp-endpoint http://c --otlp-headers a=b%20c,X-Tenant=t= --otlp-timeout 2500";
        let collector = settings(flags).unwrap().unwrap().collector;
        assert_eq!(collector.headers["a"], "b c");
        assert_eq!(collector.headers["x-tenant"], "t=");
        assert_eq!(collector.timeout, Duration::from_millis(2500));
    }

    #[test]
    fn the_flags_of_descheduler_set_name_namespace_and_share() {
        let flags = "--otel-collector-endpoint c:1 --otel-service-name s --otel-trace-namespace n \
            --otel-sample-rate 0.5";
        let settings = settings(flags).unwrap().unwrap();
        assert_eq!(settings.service.as_deref(), Some("s"));
        assert_eq!(settings.namespace.as_deref(), Some("n"));
        assert_eq!(settings.share, Ratio::new(0.5));
        assert_eq!(settings.instance, "me");
    }
}
