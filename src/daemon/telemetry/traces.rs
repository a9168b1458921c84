//! Traces: what the loop does and for how long, as spans for a collector that speaks OTLP.
//!
//! Nothing here may hold up a cycle or end one. Finished spans wait in a queue with a bound, a thread of its own sends them,
//! and what a collector does not take is dropped and counted.

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

use self::collector::{Collector, Trouble};
use self::exporter::Exporter;

pub mod collector;
mod exporter;
mod grpc;

/// How long the last spans may take when the program ends.
const FAREWELL: Duration = Duration::from_secs(10);

/// Our name where none is given.
const SERVICE: &str = "evenkeel";

/// What is sent, and where.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where to.
    pub collector: Collector,
    /// By which name we go; `None` is what `OTEL_RESOURCE_ATTRIBUTES` says, or `evenkeel`.
    pub service: Option<String>,
    /// `service.namespace`.
    pub namespace: Option<String>,
    /// The name of our own pod or host.
    pub instance: String,
    /// The share of traces that is sent; `None` is what `OTEL_TRACES_SAMPLER` says, or all.
    pub share: Option<Ratio>,
}

/// Spans on their way to a collector.
pub struct Traces {
    provider: SdkTracerProvider,
    ending: CancellationToken,
}

impl Traces {
    /// Begins to send, in tasks of this runtime. No request is made yet; it fails where a file is of no use.
    pub fn start(settings: Settings, runtime: Handle) -> Result<Self, Trouble> {
        let ending = CancellationToken::new();
        let resource = resource(&settings);
        let exporter = Exporter::new(settings.collector, runtime, ending.clone())?;
        let mut provider = SdkTracerProvider::builder()
            .with_resource(resource)
            .with_batch_exporter(exporter);
        if let Some(share) = settings.share {
            provider = provider.with_sampler(Sampler::ParentBased(Box::new(
                Sampler::TraceIdRatioBased(share.get()),
            )));
        }
        Ok(Traces {
            provider: provider.build(),
            ending,
        })
    }

    /// What takes the spans of this program, whatever the log shows of it. Events are left to the log.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'s> LookupSpan<'s>,
    {
        let filter = dynamic_filter_fn(wanted)
            .with_callsite_filter(|callsite| {
                if may_be_wanted(callsite) {
                    tracing::subscriber::Interest::sometimes()
                } else {
                    tracing::subscriber::Interest::never()
                }
            })
            .with_max_level_hint(LevelFilter::DEBUG);
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer(SERVICE))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(filter)
    }

    /// Sends what is left, for ten seconds at most: a third of what Kubernetes gives a pod to end. It blocks, and the
    /// runtime must still run.
    pub fn stop(&self) {
        self.ending.cancel();
        // What was lost has been told by whoever lost it.
        let _ = self.provider.shutdown_with_timeout(FAREWELL);
    }
}

/// Who we are. `OTEL_RESOURCE_ATTRIBUTES` is read as well.
fn resource(settings: &Settings) -> Resource {
    let known = Resource::builder().build();
    let name = known
        .get(&Key::from_static_str("service.name"))
        .map(|name| name.to_string());
    // The SDK names whoever has no name after this.
    let name = name.filter(|name| !name.starts_with("unknown_service"));
    let name = settings
        .service
        .clone()
        .or(name)
        .unwrap_or_else(|| SERVICE.to_owned());
    let namespace = settings
        .namespace
        .clone()
        .map(|namespace| KeyValue::new("service.namespace", namespace));
    Resource::builder()
        .with_service_name(name)
        .with_attributes([
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("service.instance.id", settings.instance.clone()),
        ])
        .with_attributes(namespace)
        .build()
}

/// Our own spans, and below them those of the requests that the kube client makes. Its watches are no part of anything.
fn wanted<S>(span: &Metadata<'_>, context: &Context<'_, S>) -> bool
where
    S: Subscriber + for<'s> LookupSpan<'s>,
{
    may_be_wanted(span) && (is_ours(span) || context.lookup_current().is_some())
}

fn may_be_wanted(callsite: &Metadata<'_>) -> bool {
    callsite.is_span() && (is_ours(callsite) || callsite.target().starts_with("kube_client"))
}

/// Whether this program has made it, and none of the crates that it is made of.
pub fn is_ours(callsite: &Metadata<'_>) -> bool {
    callsite.target().split("::").next() == Some(env!("CARGO_CRATE_NAME"))
}
