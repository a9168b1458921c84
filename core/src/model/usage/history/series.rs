//! The series of samples of one node and of one pod.

use std::cmp::Ordering;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;

use crate::model::snapshot::Pod;
use crate::model::snapshot::facts::PodFacts;
use crate::model::usage::hindsight::EndedHour;
use crate::model::usage::rhythm::Rhythm;
use crate::model::usage::{Measure, Sample, Unmeasured};
use crate::policy::UsagePolicy;

use super::alignment::{PodName, order};
use super::collected::CollectedAverage;
use super::samples::PodSamples;
use super::vacant::Vacancies;

/// The samples of one node.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeSeries {
    pub(super) remainders: VecDeque<Remainder>,
    /// The newest sample as received.
    pub(super) newest: Option<Sample>,
    /// Why a newer sample is not used.
    pub(super) flaw: Option<Unmeasured>,
    /// The average of all polls that descheduler would have.
    pub(super) collected: Option<CollectedAverage>,
    /// The last time when a pod left, as observed or as recorded in the ledger.
    pub(super) left: Option<Timestamp>,
    /// Pods that have left but are part of the newest sample.
    guests: BTreeSet<PodName>,
    /// Pods that are measured no more, so that they are part of the remainders.
    pub(super) lost: BTreeSet<PodName>,
}

/// The usage of a node at one time that belongs to no pod.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remainder {
    /// The usage of the node including its pods.
    pub(super) sample: Sample,
    /// The usage of the pods that are part of it.
    pub(super) of_pods: Measure,
    /// Whether every pod had a sample and none left during the sample. Otherwise the remainder may
    /// include pod usage.
    clean: bool,
}

/// The samples of one pod.
#[derive(Clone, Debug)]
pub(super) struct PodSeries {
    /// The pod as last seen. Another pod with the same name has another uid and starts a new
    /// series.
    pub(super) pod: Arc<PodFacts>,
    pub(super) node: String,
    pub(super) samples: PodSamples,
    /// The usage by hour of day, if it is learned.
    pub(super) rhythm: Option<Box<Rhythm>>,
    /// Whether this pod replaces one that was known.
    replaces: bool,
    /// Why a newer sample is not used.
    pub(super) flaw: Option<Box<Unmeasured>>,
}

impl NodeSeries {
    /// Adds the node's sample minus the usage of pods, unless the sample is known already.
    ///
    /// `complete` states that every pod that should have a sample has one.
    pub(super) fn take<'g>(
        &mut self,
        sample: Sample,
        of_pods: Measure,
        guests: impl Iterator<Item = &'g PodName>,
        complete: bool,
    ) {
        self.flaw = None;
        let last = self.remainders.back();
        // Polls are more frequent than samples. A sample that is counted twice would weigh twice.
        if last.is_some_and(|last| last.sample.at >= sample.at) {
            return;
        }
        self.newest = Some(sample);
        let guests: BTreeSet<PodName> = guests.cloned().collect();
        // A guest that is no longer reported has left between the two samples.
        if !self.guests.is_subset(&guests) {
            self.left = self.left.max(Some(sample.at));
        }
        self.guests = guests;
        // A pod that left during the sample's window is partly included, so the sample is not
        // clean.
        let start = sample.at.saturating_sub(sample.window).unwrap_or(sample.at);
        let has_left = self.left.is_none_or(|left| start >= left);
        self.remainders.push_back(Remainder { sample, of_pods, clean: complete && has_left });
    }

    /// Notes which pods are measured no more. If they have changed, the earlier remainders include
    /// other pods than the next ones, and are dropped.
    pub(super) fn lose(&mut self, lost: BTreeSet<PodName>) {
        if self.lost != lost {
            self.remainders.clear();
            self.lost = lost;
        }
    }

    /// Adds the value of a poll to the average of descheduler.
    pub(super) fn collect(&mut self, used: Measure, now: Timestamp) {
        match &mut self.collected {
            Some(average) => average.add(used, now),
            none => *none = Some(CollectedAverage::new(used, now)),
        }
    }

    /// Drops the samples from before a time, but not the newest one, nor the newest `enough` clean
    /// ones: while pods leave at every sample, what a node uses beside its pods is known from
    /// before, and changes slowly.
    pub(super) fn prune(&mut self, start: Timestamp, enough: u32) {
        let is_old = |r: &Remainder| r.sample.at < start;
        if !self.remainders.front().is_some_and(is_old) {
            return;
        }
        let newest = self.remainders.back().map(|r| r.sample.at);
        let mut clean = self.clean().count();
        self.remainders.retain(|r| {
            let is_needed = r.clean && clean <= enough as usize;
            clean -= usize::from(r.clean);
            !is_old(r) || is_needed || Some(r.sample.at) == newest
        });
    }

    /// Returns the remainders that include no pod usage.
    pub(super) fn clean(&self) -> impl Iterator<Item = &Remainder> + Clone {
        self.remainders.iter().filter(|r| r.clean)
    }
}

impl Remainder {
    /// Returns the usage that belongs to no pod, as a sample.
    pub(super) fn amount(&self) -> Sample {
        Sample { used: self.sample.used.minus(self.of_pods), ..self.sample }
    }
}

impl PodSeries {
    pub(super) fn new(pod: &Pod) -> Self {
        PodSeries {
            pod: Arc::clone(pod.facts()),
            node: String::new(),
            samples: PodSamples::default(),
            rhythm: None,
            replaces: false,
            flaw: None,
        }
    }

    /// Compares with a pod by namespace and name. Usually the facts are unchanged and shared, which
    /// is checked first.
    pub(super) fn order(&self, pod: &Pod) -> Ordering {
        if Arc::ptr_eq(&self.pod, pod.facts()) {
            return Ordering::Equal;
        }
        order(&self.pod.namespace, &self.pod.name, pod)
    }

    /// Returns true if the series belongs to this pod and not to an earlier pod with the same name.
    pub(super) fn belongs_to(&self, pod: &Pod) -> bool {
        Arc::ptr_eq(&self.pod, pod.facts()) || (self.order(pod).is_eq() && self.pod.uid == pod.uid)
    }

    /// Adds a sample, unless it is known already: polls are more frequent than samples.
    pub(super) fn take(
        &mut self,
        pod: &Pod,
        node: &str,
        sample: Sample,
        rules: &UsagePolicy,
    ) -> bool {
        if self.node.is_empty() || !Arc::ptr_eq(&self.pod, pod.facts()) {
            self.pod = Arc::clone(pod.facts());
            node.clone_into(&mut self.node);
        }
        self.samples.push(sample, rules.half_life())
    }

    /// Goes on with what is known of a pod that this one replaces, if there is one. That pod may
    /// leave after its replacement has started.
    pub(super) fn go_on(&mut self, vacant: &mut Vacancies, now: Timestamp) {
        if !self.replaces
            && let Some(departed) = vacant.take(&self.pod, now)
        {
            self.replaces = true;
            self.rhythm = departed.rhythm.or(self.rhythm.take());
        }
    }

    /// Whether nothing is known of the pod, or of one that it replaces, from before its start.
    pub(super) fn is_first(&self) -> bool {
        !self.replaces && self.samples.course().is_none()
    }

    /// Learns from the newest sample. Returns the last hour if the pod had learned it and this
    /// sample ends it.
    ///
    /// The course of a pod begins once it is not starting any more.
    pub(super) fn learn(
        &mut self,
        sample: Sample,
        rules: &UsagePolicy,
        is_starting: bool,
    ) -> Option<EndedHour> {
        if rules.look_ahead().is_some() && !is_starting {
            self.samples.follow();
        }
        if rules.ahead.is_some() {
            self.rhythm.get_or_insert_default();
        }
        self.rhythm.as_mut()?.take(sample.at, sample.used.cpu)
    }
}
