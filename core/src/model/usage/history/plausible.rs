//! Whether a sample can be right, given its node, its pod and the time.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::model::snapshot::facts::{NodeFacts, Role};
use crate::model::snapshot::{Pod, Snapshot};
use crate::model::usage::{Readings, Sample, SampleFlaw, Unmeasured};
use crate::values::{Amount, quantity};

/// How much more cpu than its node has a sample may show. The usage is the difference of two
/// readings of a counter divided by the time between them, and a busy kubelet may read the second
/// one late. Late by a whole period, it is twice as much.
const MOST_CPU: u64 = 2;

/// Above any machine, for nodes whose capacity is not known: a million cores, and 888 PiB.
const MOST_CORES: Amount = Amount::new(1_000_000 * Amount::NANOS);
const MOST_BYTES: Amount = Amount::new(1_000_000_000_000_000_000);

/// The readings and the time by which samples are checked.
pub(super) struct Plausibility<'r> {
    pub(super) readings: &'r Readings,
    pub(super) now: Timestamp,
    /// How far ahead of our clock a sample may be.
    pub(super) ahead: SignedDuration,
    /// Whether every sample counts.
    pub(super) every: bool,
}

impl Plausibility<'_> {
    /// Returns why a sample of a pod cannot be used.
    pub(super) fn check_pod(
        &self,
        snapshot: &Snapshot,
        pod: &Pod,
        sample: &Sample,
    ) -> Result<(), Unmeasured> {
        if self.every {
            return Ok(());
        }
        let node = pod.node.map(|node| snapshot.node(node));
        self.check(node.map(|node| &**node), sample)?;
        let names = &self.readings.containers;
        let running = pod.containers.iter().filter(|c| c.runs && c.role != Role::Ephemeral);
        let mut missing = running.filter(|c| names.lacks(sample.containers, &c.name));
        missing.next().map_or(Ok(()), |container| {
            let name = container.name.as_str().into();
            Err(Unmeasured::Flawed(SampleFlaw::Partial(name)))
        })
    }

    /// Returns the sample of a node, or why it cannot be used.
    pub(super) fn node(&self, node: &NodeFacts) -> Result<Option<Sample>, Unmeasured> {
        let sample = self.readings.nodes.get(&node.name);
        if self.every {
            return Ok(sample.copied());
        }
        if let Some(sample) = sample.filter(|sample| is_of(node, sample)) {
            return self.check(Some(node), sample).map(|()| Some(*sample));
        }
        match self.readings.unreadable_nodes.get(&node.name) {
            Some(why) => Err(Unmeasured::Flawed(SampleFlaw::Unreadable(Arc::clone(why)))),
            None => Ok(None),
        }
    }

    fn check(&self, node: Option<&NodeFacts>, sample: &Sample) -> Result<(), Unmeasured> {
        let lead = sample.at.duration_since(self.now);
        if lead > self.ahead {
            return Err(Unmeasured::Future(lead));
        }
        let (cpu, memory) = (sample.used.cpu, sample.used.memory);
        let has = |resource| node.and_then(|node| node.capacity_of(resource));
        let cores = has("cpu");
        let most =
            cores.map_or(MOST_CORES, |cores| Amount::new(cores.get().saturating_mul(MOST_CPU)));
        within("cpu", cpu, most, cores)?;
        let bytes = has("memory");
        within("memory", memory, bytes.unwrap_or(MOST_BYTES), bytes)
    }
}

/// Whether a sample is of this node, and not of an earlier one of the same name.
pub(super) fn is_of(node: &NodeFacts, sample: &Sample) -> bool {
    sample.at >= node.created
}

/// Requires that an amount is not above the most that is possible.
fn within(
    resource: &str,
    used: Amount,
    most: Amount,
    capacity: Option<Amount>,
) -> Result<(), Unmeasured> {
    if used <= most {
        return Ok(());
    }
    let used = shown(resource, used);
    let has = capacity.map_or("no machine has as much".to_owned(), |amount| {
        format!("its node has {}", quantity::text(resource, amount))
    });
    let what = format!("{resource} {used}, and {has}");
    Err(Unmeasured::Flawed(SampleFlaw::Contradictory(what.into())))
}

/// Requires that an amount of a node is not below the least that is possible, given what its pods
/// use.
pub(super) fn not_below(
    resource: &str,
    used: Amount,
    least: Amount,
    of_pods: Amount,
) -> Result<(), Unmeasured> {
    if used >= least {
        return Ok(());
    }
    let [used, of_pods] = [used, of_pods].map(|amount| shown(resource, amount));
    let what = format!("{resource} {used}, and its pods use {of_pods}");
    Err(Unmeasured::Flawed(SampleFlaw::Contradictory(what.into())))
}

/// Shows an amount. The largest one stands for all that are too large to be counted.
fn shown(resource: &str, amount: Amount) -> String {
    if amount < Amount::new(u64::MAX) {
        return quantity::text(resource, amount);
    }
    let unit = if resource == "cpu" { Amount::NANOS } else { 1 };
    format!("{} or more", amount.get() / unit)
}
