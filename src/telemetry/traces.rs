//! Traces: spans of the loop's work and its duration, sent to a collector by OTLP over HTTP.
//!
//! Traces can neither delay a cycle nor end one. Finished spans wait in a bounded queue, another
//! thread sends them, and spans that the collector does not take are dropped and counted.
//!
//! gRPC is not supported: its exporter needs tonic, and every collector that takes gRPC also takes
//! HTTP.

use std::time::Duration;

use opentelemetry::trace::TracerProvider;
use opentelemetry::{Key, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, dynamic_filter_fn};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::values::Ratio;

use self::collector::Collector;
use self::error::TraceError;
use self::exporter::BoundedExporter;

mod client;
pub mod collector;
pub mod error;
mod exporter;

/// Time for the last spans when the program ends: a third of the 30 s that Kubernetes gives a pod
/// to end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// Default service name.
const SERVICE: &str = "evenkeel";

/// Attributes, sampling and destination of traces.
#[derive(Clone, Debug)]
pub struct TraceSettings {
    /// The collector.
    pub collector: Collector,
    /// `service.name`; `None` uses `OTEL_RESOURCE_ATTRIBUTES`, or `evenkeel`.
    pub service: Option<String>,
    /// `service.namespace`.
    pub namespace: Option<String>,
    /// `service.instance.id`: the name of our pod or host.
    pub instance: String,
    /// Share of traces that is sent; `None` uses `OTEL_TRACES_SAMPLER`, or sends all.
    pub share: Option<Ratio>,
}

/// The pipeline of spans to a collector.
pub struct Traces {
    provider: SdkTracerProvider,
    shutdown: CancellationToken,
}

impl Traces {
    /// Starts to send spans, in tasks of this runtime. Fails if the CA file cannot be used; the
    /// collector is not contacted yet.
    pub fn start(settings: TraceSettings, runtime: Handle) -> Result<Self, TraceError> {
        let shutdown = CancellationToken::new();
        let resource = resource(&settings);
        let exporter = BoundedExporter::new(settings.collector, runtime, shutdown.clone())?;
        let mut provider =
            SdkTracerProvider::builder().with_resource(resource).with_batch_exporter(exporter);
        if let Some(share) = settings.share {
            // Without a share the SDK reads `OTEL_TRACES_SAMPLER` itself.
            provider = provider.with_sampler(Sampler::ParentBased(Box::new(
                Sampler::TraceIdRatioBased(share.get()),
            )));
        }
        Ok(Traces { provider: provider.build(), shutdown })
    }

    /// Returns the layer that takes this program's spans, at any log level. Events go to the log
    /// only.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'s> LookupSpan<'s>,
    {
        let filter = dynamic_filter_fn(is_traced)
            .with_callsite_filter(|callsite| {
                if may_be_traced(callsite) {
                    // The filter asks again for each span, because the answer depends on the span's
                    // parent.
                    tracing::subscriber::Interest::sometimes()
                } else {
                    tracing::subscriber::Interest::never()
                }
            })
            .with_max_level_hint(LevelFilter::DEBUG);
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer(SERVICE))
            // File, line and thread say nothing about a cycle, and would be stored with every span.
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(filter)
    }

    /// Sends the remaining spans, for at most `SHUTDOWN_TIMEOUT`. This call blocks, and the
    /// runtime must still run.
    pub fn stop(&self) {
        // First, so that batches under way stop their retries.
        self.shutdown.cancel();
        // The exporter has already logged the lost spans.
        let _ = self.provider.shutdown_with_timeout(SHUTDOWN_TIMEOUT);
    }
}

/// Returns the attributes of this process, with those of `OTEL_RESOURCE_ATTRIBUTES`.
fn resource(settings: &TraceSettings) -> Resource {
    let detected = Resource::builder().build();
    // The SDK's default name is `unknown_service`, which must not replace ours.
    let detected_name = detected
        .get(&Key::from_static_str("service.name"))
        .map(|name| name.to_string())
        .filter(|name| !name.starts_with("unknown_service"));
    let name = settings.service.clone().or(detected_name).unwrap_or_else(|| SERVICE.to_owned());
    let namespace = settings.namespace.clone();
    Resource::builder()
        .with_service_name(name)
        .with_attributes([
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("service.instance.id", settings.instance.clone()),
        ])
        .with_attributes(namespace.map(|name| KeyValue::new("service.namespace", name)))
        .build()
}

/// Whether a span is sent: our own spans, and the kube client's requests below them. The kube
/// client's watches have no parent and are left out.
fn is_traced<S>(span: &Metadata<'_>, context: &Context<'_, S>) -> bool
where
    S: Subscriber + for<'s> LookupSpan<'s>,
{
    may_be_traced(span) && (is_ours(span) || context.lookup_current().is_some())
}

fn may_be_traced(callsite: &Metadata<'_>) -> bool {
    callsite.is_span() && (is_ours(callsite) || callsite.target().starts_with("kube_client"))
}

/// Whether this crate, and not one of its dependencies, makes the span or event.
pub fn is_ours(callsite: &Metadata<'_>) -> bool {
    callsite.target().split("::").next() == Some(env!("CARGO_CRATE_NAME"))
}
