//! Lookup tables for the scheduler forecast: topology domains, pods by selector, and affinity terms
//! by pod.
//!
//! The index depends only on the snapshot, so all placements of a snapshot share it.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use crate::model::search_start::NodeOrder;
use crate::model::snapshot::facts::PodAffinityTerm;
use crate::model::snapshot::{AttachedVolume, NodeId, PodId, Snapshot};
use crate::values::selector::{Labels, Requirement, Selector, Test};

mod build;
mod by_label;
mod topology;

pub use topology::Topology;

use build::{
    attached, attached_by_node, claim_users, controlled, images, label_groups, rotation, siblings,
    terms,
};
use by_label::{GroupsByLabel, TermsByLabel};

/// Pods, shared between equal lookups.
pub type Pods = Rc<[PodId]>;

/// The affinity terms, and the positions of each pod's own terms.
type Terms<'w> = (Vec<IndexedTerm<'w>>, Vec<Rc<[usize]>>);

/// Lookup tables of one snapshot, each built when it is first asked for.
#[derive(Debug)]
pub struct Index<'w> {
    snapshot: &'w Snapshot,
    label_groups: OnceCell<(Vec<LabelGroup<'w>>, Vec<usize>)>,
    siblings: OnceCell<(Vec<Pods>, Vec<Option<usize>>)>,
    terms: OnceCell<Terms<'w>>,
    terms_by_label: OnceCell<TermsByLabel<'w>>,
    groups_by_label: OnceCell<GroupsByLabel<'w>>,
    with_ports: OnceCell<Vec<PodId>>,
    controlled: OnceCell<Vec<u32>>,
    images: OnceCell<BTreeMap<&'w str, NodeImage>>,
    rotations: [OnceCell<Vec<NodeId>>; 2],
    lowest_priority: OnceCell<Option<i32>>,
    attached: OnceCell<Vec<(PodId, AttachedVolume<'w>)>>,
    attached_by_node: OnceCell<Vec<Vec<AttachedVolume<'w>>>>,
    left_attached: OnceCell<Vec<(NodeId, AttachedVolume<'w>)>>,
    undecided_terms: OnceCell<Vec<usize>>,
    claim_users: OnceCell<BTreeMap<&'w str, BTreeMap<&'w str, Vec<PodId>>>>,
    topologies: RefCell<BTreeMap<String, Rc<Topology>>>,
    selected: RefCell<BTreeMap<&'w str, BTreeMap<Selector, Pods>>>,
}

/// Pods of one namespace with equal labels. A selector matches all of them or none.
#[derive(Debug)]
struct LabelGroup<'w> {
    namespace: &'w str,
    labels: &'w Labels,
    pods: Vec<PodId>,
    matched_by: OnceCell<Rc<[usize]>>,
}

/// An affinity term and all pods that have it.
#[derive(Debug)]
pub struct IndexedTerm<'w> {
    /// The kind of the term.
    pub kind: TermKind,
    /// The pods that the term matches.
    pub term: &'w PodAffinityTerm,
    /// The namespace of the pods that have the term.
    pub namespace: &'w str,
    /// The pods that have the term.
    pub pods: Vec<PodId>,
    matched: OnceCell<Pods>,
}

/// The kind of an affinity term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TermKind {
    /// Required anti-affinity.
    RequiredAntiAffinity,
    /// Required affinity.
    RequiredAffinity,
    /// Preferred affinity with this weight; negative for anti-affinity.
    Preferred(i64),
}

/// An image that nodes have.
#[derive(Debug, Default)]
pub struct NodeImage {
    /// The size in bytes, as the first node reports it.
    pub size: u64,
    /// The nodes that have the image.
    pub nodes: Vec<NodeId>,
}

impl<'w> Index<'w> {
    /// Creates the index of the pods of the snapshot.
    pub fn new(snapshot: &'w Snapshot) -> Self {
        Index {
            snapshot,
            label_groups: OnceCell::new(),
            siblings: OnceCell::new(),
            terms: OnceCell::new(),
            terms_by_label: OnceCell::new(),
            groups_by_label: OnceCell::new(),
            with_ports: OnceCell::new(),
            controlled: OnceCell::new(),
            images: OnceCell::new(),
            rotations: [OnceCell::new(), OnceCell::new()],
            lowest_priority: OnceCell::new(),
            attached: OnceCell::new(),
            attached_by_node: OnceCell::new(),
            left_attached: OnceCell::new(),
            undecided_terms: OnceCell::new(),
            claim_users: OnceCell::new(),
            topologies: RefCell::default(),
            selected: RefCell::default(),
        }
    }

    /// Returns the domains of a topology key.
    pub fn topology(&self, key: &str) -> Rc<Topology> {
        if let Some(known) = self.topologies.borrow().get(key) {
            return Rc::clone(known);
        }
        let found = Rc::new(Topology::new(self.snapshot, key));
        self.topologies.borrow_mut().insert(key.to_owned(), Rc::clone(&found));
        found
    }

    /// Returns the pods of a namespace that match a selector, without finished ones.
    pub fn selected(&self, namespace: &'w str, selector: &Selector) -> Pods {
        if let Some(known) = self.selected.borrow().get(namespace).and_then(|all| all.get(selector))
        {
            return Rc::clone(known);
        }
        let groups = self.groups_in(namespace, selector).into_iter();
        let found = groups.filter(|a| selector.matches(a.labels));
        let found: Pods = found.flat_map(|a| a.pods.iter().copied()).collect();
        self.selected
            .borrow_mut()
            .entry(namespace)
            .or_default()
            .insert(selector.clone(), Rc::clone(&found));
        found
    }

    /// Returns the pods that the default constraints spread a pod with; `None` if there are none.
    ///
    /// These are the pods of the same ReplicaSet, ReplicationController or StatefulSet, or only the
    /// pod itself if a service selects it by its name or number. For other pods, they are those
    /// that the same services select. The scheduler joins the selectors of the services and the
    /// controller (`helper.DefaultSelector` in its source). Other services select all siblings, or
    /// by labels that were added later and that a replacement lacks.
    pub fn group(&self, pod: PodId) -> Option<Pods> {
        let own = self.snapshot.pod(pod);
        if let Some(position) = self.siblings().1[pod.0] {
            if self.depends_on_services(pod) && self.snapshot.services_of(own).any(names_pod) {
                return Some(Rc::from([pod]));
            }
            return Some(Rc::clone(&self.siblings().0[position]));
        }
        let merged: Labels = self
            .snapshot
            .services_of(own)
            .flatten()
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let equal =
            merged.into_iter().map(|(key, value)| Requirement { key, test: Test::In(vec![value]) });
        let selector = Selector::new(equal.collect());
        (!selector.is_empty()).then(|| self.selected(&own.namespace, &selector))
    }

    /// Returns true if the [`group`](Self::group) of a pod depends on services: the scheduler does
    /// not know its controller, or labels tell the pod from its siblings.
    pub fn depends_on_services(&self, pod: PodId) -> bool {
        self.siblings().1[pod.0].is_none() || names_pod(&self.snapshot.pod(pod).labels)
    }

    /// Returns the number of pods with the same controller that stay, with this pod; zero for a pod
    /// without a workload.
    pub fn controlled(&self, pod: PodId) -> u32 {
        self.controlled.get_or_init(|| controlled(self.snapshot))[pod.0]
    }

    /// Returns the term at a position.
    pub fn term(&self, position: usize) -> &IndexedTerm<'w> {
        &self.all_terms().0[position]
    }

    /// Returns the positions of a pod's own terms.
    pub fn terms_of(&self, pod: PodId) -> &[usize] {
        &self.all_terms().1[pod.0]
    }

    /// Returns the positions of the terms that match a pod, which may include its own.
    pub fn terms_matching(&self, pod: PodId) -> Rc<[usize]> {
        let terms = &self.all_terms().0;
        // To group the labels of all pods takes long.
        if terms.is_empty() {
            return Rc::default();
        }
        let group = self.label_group_of(pod);
        Rc::clone(group.matched_by.get_or_init(|| {
            let by_label = self.terms_by_label.get_or_init(|| TermsByLabel::new(terms));
            let mut matching = by_label.may_match(group.labels);
            matching.retain(|position| self.matches(&terms[*position], group));
            matching.into()
        }))
    }

    /// Returns the pods that a term matches.
    pub fn matched_pods(&self, position: usize) -> Pods {
        let term = &self.all_terms().0[position];
        Rc::clone(term.matched.get_or_init(|| {
            let groups = self.groups_for(term).into_iter();
            let matching = groups.filter(|group| self.matches(term, group));
            matching.flat_map(|group| &group.pods).copied().collect()
        }))
    }

    /// Returns the pods that use host ports.
    pub fn with_ports(&self) -> &[PodId] {
        self.with_ports.get_or_init(|| with_ports(self.snapshot))
    }

    /// Returns the volumes that CSI drivers attach for a pod that has not finished, with the pod.
    pub fn attached_volumes(&self, pod: PodId) -> &[(PodId, AttachedVolume<'w>)] {
        let all = self.attached();
        let from = &all[all.partition_point(|(p, _)| *p < pod)..];
        &from[..from.partition_point(|(p, _)| *p == pod)]
    }

    /// Returns the volumes that CSI drivers attach for the pods of a node in the snapshot, sorted,
    /// each once.
    pub fn attached_on(&self, node: NodeId) -> &[AttachedVolume<'w>] {
        let collect = || attached_by_node(self.snapshot, self.attached());
        &self.attached_by_node.get_or_init(collect)[node.0]
    }

    fn attached(&self) -> &[(PodId, AttachedVolume<'w>)] {
        self.attached.get_or_init(|| attached(self.snapshot))
    }

    /// Returns the volumes that are attached to nodes without a pod there that uses them.
    pub fn left_attached(&self) -> &[(NodeId, AttachedVolume<'w>)] {
        self.left_attached.get_or_init(|| self.snapshot.left_attached())
    }

    /// Returns the pods that use a claim and stay.
    pub fn claim_users(&self, namespace: &str, claim: &str) -> &[PodId] {
        let users = self.claim_users.get_or_init(|| claim_users(self.snapshot));
        users
            .get(namespace)
            .and_then(|claims| claims.get(claim))
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// Returns a namespace whose unknown labels decide whether a term of this pod matches other
    /// pods, or a term of other pods this one.
    pub fn unknown_namespace(&self, pod: PodId) -> Option<&'w str> {
        if self.decides_all_namespaces() {
            return None;
        }
        let undecided = self.undecided_terms();
        let own = self.label_group_of(pod);
        let mut all = undecided.iter().map(|term| &self.all_terms().0[*term]);
        if all.any(|term| !term.pods.is_empty() && self.may_match(term, own)) {
            return Some(own.namespace);
        }
        let of_pod = undecided.iter().filter(|term| self.terms_of(pod).contains(term));
        let mut matched = of_pod.flat_map(|term| {
            let groups = self.label_groups().iter().filter(|a| !a.pods.is_empty());
            groups.filter(|a| self.may_match(&self.all_terms().0[*term], a))
        });
        matched.next().map(|group| group.namespace)
    }

    /// Returns an image by name, if any node has it.
    pub fn image(&self, name: &str) -> Option<&NodeImage> {
        self.images.get_or_init(|| images(self.snapshot)).get(name)
    }

    /// Returns all nodes in the order in which the scheduler visits them: one node of each zone in
    /// turn.
    pub fn rotation(&self, order: NodeOrder) -> &[NodeId] {
        self.rotations[order as usize].get_or_init(|| rotation(self.snapshot, order))
    }

    /// Returns the lowest priority of the pods that stay on a node; `None` without such pods.
    pub fn lowest_priority(&self) -> Option<i32> {
        *self.lowest_priority.get_or_init(|| {
            let staying = self.snapshot.pods.iter();
            let staying = staying.filter(|p| p.node.is_some() && p.stays());
            staying.map(|p| p.priority_or_zero()).min()
        })
    }

    fn matches(&self, term: &IndexedTerm<'w>, group: &LabelGroup<'w>) -> bool {
        term.term.matches(&self.snapshot.namespaces, term.namespace, group.namespace, group.labels)
    }

    /// Returns true if no pod has an [`unknown_namespace`](Self::unknown_namespace).
    pub fn decides_all_namespaces(&self) -> bool {
        self.undecided_terms().is_empty()
    }

    fn undecided_terms(&self) -> &[usize] {
        self.undecided_terms.get_or_init(|| self.find_undecided_terms())
    }

    /// Returns the terms that select namespaces by labels, if any namespace is unknown.
    fn find_undecided_terms(&self) -> Vec<usize> {
        let is_known = |name| self.snapshot.namespaces.contains_key(name);
        if self.snapshot.pod_namespaces().all(is_known) {
            return Vec::new();
        }
        let terms = self.all_terms().0.iter().enumerate();
        let by_labels = terms.filter(|(_, term)| term.term.namespace_selector.is_some());
        by_labels.map(|(position, _)| position).collect()
    }

    fn label_groups(&self) -> &[LabelGroup<'w>] {
        &self.grouped_by_labels().0
    }

    fn label_group_of(&self, pod: PodId) -> &LabelGroup<'w> {
        let (all, of) = self.grouped_by_labels();
        &all[of[pod.0]]
    }

    fn grouped_by_labels(&self) -> &(Vec<LabelGroup<'w>>, Vec<usize>) {
        self.label_groups.get_or_init(|| label_groups(self.snapshot))
    }

    fn siblings(&self) -> &(Vec<Pods>, Vec<Option<usize>>) {
        self.siblings.get_or_init(|| siblings(self.snapshot))
    }

    fn all_terms(&self) -> &Terms<'w> {
        self.terms.get_or_init(|| terms(self.snapshot))
    }

    /// Returns true if the term would match these pods if the unknown labels of their namespace
    /// said so.
    fn may_match(&self, term: &IndexedTerm<'w>, group: &LabelGroup<'w>) -> bool {
        let namespaces = &self.snapshot.namespaces;
        term.term.scope_is_unknown(namespaces, group.namespace)
            && term.term.pods.as_ref().is_some_and(|s| s.matches(group.labels))
    }

    /// Returns the positions of the pods of a namespace. Pods are sorted by namespace.
    fn range(&self, namespace: &str) -> Range<usize> {
        let first = self.label_groups().partition_point(|a| a.namespace < namespace);
        first..first + self.label_groups()[first..].partition_point(|a| a.namespace == namespace)
    }
}

/// Returns the pods that use host ports, without finished ones.
fn with_ports(snapshot: &Snapshot) -> Vec<PodId> {
    let pods = snapshot.pod_ids().zip(&snapshot.pods);
    pods.filter(|(_, pod)| !pod.ports.is_empty() && !pod.finished()).map(|(id, _)| id).collect()
}

/// Whether labels or a selector tell a pod of a StatefulSet from the others.
fn names_pod(labels: &Labels) -> bool {
    let own = ["statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"];
    own.iter().any(|key| labels.contains_key(*key))
}
