//! Sends batches of spans in a task of their own, and logs which are lost.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentelemetry_otlp::{
    Protocol, RetryPolicy, SpanExporter as OtlpExporter, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::cluster::lock;

use super::client::{CollectorClient, LastError};
use super::collector::Collector;
use super::error::TraceError;

/// Pause before the second attempt. It doubles with each attempt until the time for the batch is
/// over.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Time that one batch still has when the program ends. There may be two: one on its way, and the
/// last.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(4);

/// Wraps the OTLP exporter: bounds the time of a batch, and logs the first loss and the recovery.
#[derive(Debug)]
pub(super) struct BoundedExporter {
    batches: Arc<BatchSender>,
    /// The SDK calls from a thread without a reactor, therefore requests run as tasks of this
    /// runtime.
    runtime: Handle,
}

#[derive(Debug)]
struct BatchSender {
    exporter: OtlpExporter,
    last_error: LastError,
    timeout: Duration,
    shutdown: CancellationToken,
    log: LossLog,
}

/// State for logging lost spans.
#[derive(Debug)]
struct LossLog {
    collector: String,
    losses: Mutex<Losses>,
}

#[derive(Debug, Default)]
struct Losses {
    /// Kinds of errors that have been logged since the last success.
    logged: BTreeSet<(&'static str, u16)>,
    /// Spans lost since the last success.
    spans: usize,
}

impl BoundedExporter {
    /// Fails if the CA file cannot be used. Sends no request.
    pub(super) fn new(
        collector: Collector,
        runtime: Handle,
        shutdown: CancellationToken,
    ) -> Result<Self, TraceError> {
        let last_error = LastError::default();
        let timeout = collector.timeout;
        let log = LossLog { collector: collector.name(), losses: Mutex::default() };
        let builder = OtlpExporter::builder()
            .with_http()
            .with_endpoint(collector.url.as_str())
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(timeout)
            .with_retry_policy(
                RetryPolicy::recommended()
                    // Only the timeout ends the attempts.
                    .with_max_retries(usize::MAX)
                    .with_initial_delay(FIRST_PAUSE)
                    .with_max_delay(LONGEST_PAUSE),
            );
        let client = CollectorClient::new(collector, Arc::clone(&last_error))?;
        let exporter = builder
            .with_http_client(client)
            .build()
            .map_err(|error| TraceError::Exporter(error.to_string()))?;
        let batches = BatchSender { exporter, last_error, timeout, shutdown, log };
        Ok(BoundedExporter { batches: Arc::new(batches), runtime })
    }
}

impl SpanExporter for BoundedExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let batches = Arc::clone(&self.batches);
        let task = self.runtime.spawn(async move {
            let spans = batch.len();
            let sent = batches.send(batch).await;
            batches.log.note(&sent, spans);
            sent
        });
        // The task is cancelled only if the runtime ends first, after the time for the last spans
        // is over.
        let sent = task.await.map_err(|error| OTelSdkError::InternalFailure(error.to_string()))?;
        sent.map_err(|error| OTelSdkError::InternalFailure(error.to_string()))
    }

    fn set_resource(&mut self, resource: &Resource) {
        // The SDK sets the resource before the first export, when no task shares the exporter yet.
        if let Some(batches) = Arc::get_mut(&mut self.batches) {
            batches.exporter.set_resource(resource);
        }
    }
}

impl BatchSender {
    /// Sends a batch with retries, until its time or the time for the shutdown is over.
    async fn send(&self, batch: Vec<SpanData>) -> Result<(), TraceError> {
        // An error of an earlier batch must not be reported for this one.
        self.last_error.send_replace(None);
        tokio::select! {
            sent = timeout(self.timeout, self.exporter.export(batch)) => match sent {
                Ok(sent) => self.result(sent),
                Err(_) => Err(TraceError::Timeout(self.timeout)),
            },
            error = self.shutdown_error() => Err(error),
        }
    }

    /// Returns the reason that the client has seen. The library would say only "network error".
    fn result(&self, sent: OTelSdkResult) -> Result<(), TraceError> {
        match (self.last_error.borrow().clone(), sent) {
            // A partial success is an error here, although the library reports it as a success.
            (Some(error), _) => Err(error),
            (None, sent) => sent.map_err(|error| TraceError::Exporter(error.to_string())),
        }
    }

    /// Waits for the shutdown, and then for the first failed attempt: there is no time for a retry.
    async fn shutdown_error(&self) -> TraceError {
        self.shutdown.cancelled().await;
        let mut last_error = self.last_error.subscribe();
        let failed = timeout(SHUTDOWN_TIMEOUT, last_error.wait_for(Option::is_some)).await;
        let error = failed.ok().and_then(Result::ok).and_then(|error| error.clone());
        error.unwrap_or(TraceError::Timeout(SHUTDOWN_TIMEOUT))
    }
}

impl LossLog {
    /// Logs the first loss of each kind, and the first success after it.
    fn note(&self, sent: &Result<(), TraceError>, spans: usize) {
        let mut losses = lock(&self.losses);
        let collector = &self.collector;
        match sent {
            Ok(()) if losses.logged.is_empty() => {}
            Ok(()) => {
                let Losses { spans: lost, .. } = std::mem::take(&mut *losses);
                info!(collector, lost, "collector takes traces again; {lost} spans were lost");
            }
            Err(error) => {
                let rejected = if let TraceError::Rejected { spans, .. } = error {
                    Some(*spans)
                } else {
                    None
                };
                losses.spans += rejected.unwrap_or(spans);
                // The message may contain a port or time that differs each time, so the kind is
                // compared.
                if losses.logged.insert(error.kind()) {
                    warn!(
                        collector,
                        "traces are lost: {error}; evictions are not affected, check the collector"
                    );
                }
            }
        }
    }
}
