//! Batches of spans, sent by a thread that nobody waits for.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use prost::Message;
use reqwest::Client;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::collector::{Collector, Trouble};

/// The pause before the second attempt; it doubles.
const PAUSE: Duration = Duration::from_secs(1);

/// How long one batch may still take when the program ends. There may be two: the one that is on its way, and the last.
const LAST: Duration = Duration::from_secs(4);

/// Sends batches, one at a time.
#[derive(Debug)]
pub(super) struct Exporter {
    sender: Arc<Sender>,
    resource: ResourceAttributesWithSchema,
    /// The thread that asks for exports has no reactor, so that requests are made by tasks of this runtime.
    runtime: Handle,
}

#[derive(Debug)]
struct Sender {
    collector: Collector,
    /// Made anew after a failure, by what then stands in the files.
    client: Mutex<Option<Client>>,
    standing: Mutex<Standing>,
    ending: CancellationToken,
}

/// How it goes.
#[derive(Debug, Default)]
struct Standing {
    /// The kinds of trouble for which spans are lost, as far as it has been logged. Empty while they are taken.
    told: BTreeSet<(&'static str, u32)>,
    /// How many are lost since then.
    lost: usize,
}

impl Exporter {
    /// Fails where a file is of no use.
    pub(super) fn new(
        collector: Collector,
        runtime: Handle,
        ending: CancellationToken,
    ) -> Result<Self, Trouble> {
        let client = Mutex::new(Some(collector.connect()?));
        let sender = Arc::new(Sender {
            collector,
            client,
            standing: Mutex::default(),
            ending,
        });
        Ok(Exporter {
            sender,
            resource: ResourceAttributesWithSchema::default(),
            runtime,
        })
    }
}

impl SpanExporter for Exporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let resource_spans = group_spans_by_resource_and_scope(batch, &self.resource);
        let message = ExportTraceServiceRequest { resource_spans }.encode_to_vec();
        let sender = Arc::clone(&self.sender);
        let sent = self.runtime.spawn(async move {
            let sent = sender.deliver(&message).await;
            sender.note(&sent, spans);
            sent
        });
        // The runtime ends before the last request only where the time for it is over.
        let sent = sent
            .await
            .map_err(|error| OTelSdkError::InternalFailure(error.to_string()))?;
        sent.map_err(|trouble| OTelSdkError::InternalFailure(trouble.to_string()))
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.resource = resource.into();
    }
}

impl Sender {
    /// Sends a message, again and again while that may help and its time lasts.
    async fn deliver(&self, message: &[u8]) -> Result<(), Trouble> {
        let ended = async {
            self.ending.cancelled().await;
            sleep(LAST).await;
        };
        tokio::select! {
            sent = self.attempts(message) => sent,
            () = ended => Err(Trouble::Slow(LAST)),
        }
    }

    async fn attempts(&self, message: &[u8]) -> Result<(), Trouble> {
        let deadline = Instant::now() + self.collector.timeout;
        let mut pause = PAUSE;
        loop {
            let sent = timeout_at(deadline, self.attempt(message)).await;
            let trouble = match sent.unwrap_or(Err(Trouble::Slow(self.collector.timeout))) {
                Ok(()) => return Ok(()),
                Err(trouble) => trouble,
            };
            let late = self.ending.is_cancelled() || Instant::now() + pause >= deadline;
            if late || !trouble.may_pass() {
                return Err(trouble);
            }
            // At the end there is no time for pauses.
            self.ending.run_until_cancelled(sleep(pause)).await;
            pause *= 2;
        }
    }

    async fn attempt(&self, message: &[u8]) -> Result<(), Trouble> {
        let known = lock(&self.client).take();
        let client = known.map_or_else(|| self.collector.connect(), Ok)?;
        self.collector.send(&client, message).await?;
        *lock(&self.client) = Some(client);
        Ok(())
    }

    /// Tells the first loss of a row, and the end of it.
    fn note(&self, sent: &Result<(), Trouble>, spans: usize) {
        let mut standing = lock(&self.standing);
        let endpoint = self.collector.name();
        match sent {
            Ok(()) if standing.told.is_empty() => {}
            Ok(()) => {
                let Standing { lost, .. } = std::mem::take(&mut *standing);
                info!(
                    lost,
                    "the collector {endpoint} takes spans again; {lost} are lost"
                );
            }
            Err(trouble) => {
                standing.lost += if let Trouble::Rejected { spans, .. } = trouble {
                    *spans
                } else {
                    spans
                };
                if standing.told.insert(trouble.kind()) {
                    warn!(
                        "spans are lost while the collector {endpoint} does not take them; all else goes on: {trouble}"
                    );
                }
            }
        }
    }
}

/// No lock is ever held over an await, and a panic of another holder leaves behind what was so before.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
