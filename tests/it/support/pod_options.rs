//! Options of a pod in a text cluster: its status, its constraints and its containers.
//!
//! - status: `not-started`, `no-age` (neither creation nor start is known),
//!   `grace=1h` (the grace period), `ends=1h` (terminating, until then),
//!   `creating=20m` (pulls its images for so long), `started=1m`, `phase=Failed`, `reason=Evicted`, `condition=Ready:False:NoReason:5m`
//! - owner: `owner=Job`, `owner=ray.io/RayCluster`, `revision=b` (ReplicaSet web-b of Deployment web; with `owner=Job` Job web-b
//!   of CronJob web), `two-owners`, `gang=train` (a member of PodGroup train), `do-not-disrupt=true` or a time
//! - controller: `no-controller` (the owner is none), `owner-deleting`, `owner-fails` (it cannot
//!   create pods), `owner-over-quota` (the same because of a quota), `wanted=3` pods, `template-node=n1`, `template-gated`,
//!   `ordered` or `parallel` (with `owner=StatefulSet`; ordinals from 1, or from 10 with `ordinals=10`;
//!   `min-ready=1h`; `newest=web-b@3`: pods from ordinal 3 are created by that revision)
//!   `no-object` (the Job or StatefulSet does not exist)
//! - job (with `owner=Job`): `backoff=0`, `failed=2`, `per-index=1` and `index-failures=0`,
//!   `counts-late` (a pod that is being deleted counts once it has ended), `evicted=ignored` (or
//!   `fails-job`, `fails-index`), `deadline=20m` from noon, `foreign`
//! - work: `runs-once` (restartPolicy Never), `class=high` (a PriorityClass)
//! - virtual machine: `owner=VirtualMachineInstance request-evict-only`
//! - queue: `pending` (on no node), `nominated=n2` (the same, with room reserved on n2), `gated`
//! - priority: `never-preempts`
//! - replicas: `evict-single` (the annotation that admits the eviction of a single replica)
//! - nodes: `os=linux` (`spec.os.name`), `needs=user-namespaces,strict-groups,gvisor` (features of nodes), `tolerates=key=value:NoSchedule` (with `@60` for a minute,
//!   and with the key `*` all taints), `requires=disk:ssd`, `prefers=disk:ssd*60`
//! - other pods: `anti-affinity=web@zone` (app web in the same zone; without `@zone` on the same node),
//!   `avoids-in=team:a` (in namespaces with that label), `spread=zone:1` (over zones with the other
//!   pods of its app, maxSkew 1; with `soft` and `domains=3`), several separated by commas
//!   `dislikes=web*100` (prefers another node than app web, with this weight)
//! - scheduler: `scheduler=packer`
//! - containers: `limit=1/1Gi` (cpu and memory, `-` for none), likewise `overhead=` and `init=`,
//!   which are parts of `cpu=` and `memory=`, `image=a,b` (two containers, which request cpu) and
//!   `never-pulls`, `never-pulls-volume=web` (an image volume), `restarts=7`, `waits=CrashLoopBackOff` and `exits=Error:1`. The prefixes
//!   `init-` and `ephemeral-` select other container roles.

use std::sync::Arc;

use evenkeel::model::snapshot::facts::{
    Condition, ConditionState, Container, CreationFailure, DoNotDisrupt, Effect, Gang, JobFacts,
    NodeFeature, Numbering, Owner, OwnerFacts, PodAffinityTerm, PodFacts, PodPhase, ResourceName,
    Revision, Role, Spread, Taint, Tolerates, Toleration, WeightedPodAffinityTerm, WhenEvicted,
};
use evenkeel::model::snapshot::objects::{Object, ObjectKind};
use evenkeel::values::selector::{Labels, NodeTerm, Requirement, Selector, Test};
use evenkeel::values::{Amount, quantity};
use jiff::SignedDuration;

use super::{Words, noon, pairs};

/// Parses an option such as `limit=1/1Gi`: cpu and memory, with `-` for none.
pub(super) fn amounts(words: &Words<'_>, option: &str) -> Vec<(ResourceName, Amount)> {
    let each = words
        .get(option)
        .into_iter()
        .flat_map(|text| ["cpu", "memory"].into_iter().zip(text.split('/')));
    each.filter(|(_, text)| *text != "-")
        .map(|(r, text)| (r.to_owned().into(), quantity::amount(r, text).unwrap()))
        .collect()
}

/// Returns the controller of a pod: a Job, a StatefulSet if the line describes one, or a ReplicaSet
/// of Deployment `app`.
pub(super) fn controller(pod: &PodFacts, words: &Words<'_>, app: &str) -> Object {
    let kind = match words.get("owner") {
        Some("Job") if !words.has("no-object") => ObjectKind::Job,
        Some("StatefulSet") if !words.has("no-object") => ObjectKind::StatefulSet,
        _ => ObjectKind::ReplicaSet,
    };
    let name = pod.owners.first().map_or(app, |owner| &owner.name);
    let above = match words.get("owner") {
        Some("Job") => words.get("revision").map(|_| "CronJob"),
        _ => (kind == ObjectKind::ReplicaSet).then_some("Deployment"),
    };
    let facts = OwnerFacts {
        above: above.map(|kind| owner(kind, app)),
        uid: None,
        deleting: words.has("owner-deleting"),
        fails: words
            .has("owner-over-quota")
            .then_some(CreationFailure::Quota)
            .or(words.has("owner-fails").then_some(CreationFailure::Other)),
        wanted: words.parsed("wanted"),
        node: words.get("template-node").map(Into::into),
        gated: words.has("template-gated"),
        numbering: numbering(words),
        job: (kind == ObjectKind::Job).then(|| Box::new(job(words))),
    };
    Object::Owner(kind, (pod.namespace.clone(), name.to_owned()), facts)
}

fn numbering(words: &Words<'_>) -> Option<Box<Numbering>> {
    let numbering = Numbering {
        first: words.parsed("ordinals").unwrap_or(1),
        ordered: words.has("ordered"),
        min_ready: words.parsed("min-ready").unwrap_or_default(),
        newest: words.get("newest").map(|text| {
            let (name, from) = text.split_once('@').unwrap_or((text, "0"));
            Revision { name: name.to_owned(), from: from.parse().unwrap() }
        }),
    };
    (words.has("ordered") || words.has("parallel")).then(|| Box::new(numbering))
}

fn job(words: &Words<'_>) -> JobFacts {
    let when_evicted = match words.get("evicted") {
        None => WhenEvicted::Counts,
        Some("ignored") => WhenEvicted::Ignored,
        Some("fails-job") => WhenEvicted::FailsJob,
        Some("fails-index") => WhenEvicted::FailsIndex,
        Some(other) => panic!("evicted={other}"),
    };
    JobFacts {
        backoff_limit: words.parsed("backoff").unwrap_or(6),
        backoff_limit_per_index: words.parsed("per-index"),
        failed: words.parsed("failed").unwrap_or_default(),
        counts_late: words.has("counts-late"),
        when_evicted,
        deadline: words.parsed("deadline").map(|left: SignedDuration| noon() + left),
        foreign: words.has("foreign"),
    }
}

/// Parses `do-not-disrupt=true` or a time after the start.
pub(super) fn do_not_disrupt(text: &str) -> DoNotDisrupt {
    match text {
        "true" => DoNotDisrupt::Always,
        time => DoNotDisrupt::AfterStart(time.parse().unwrap()),
    }
}

/// Parses `gang=train`: a PodGroup.
pub(super) fn gang(name: &str) -> Gang {
    Gang { kind: "PodGroup", name: name.to_owned() }
}

/// Parses features of nodes, such as `user-namespaces,gvisor`.
pub(super) fn features(text: &str) -> Vec<NodeFeature> {
    let feature = |word: &str| match word {
        "strict-groups" => NodeFeature::StrictGroups,
        "user-namespaces" => NodeFeature::UserNamespaces,
        handler => NodeFeature::Handler(handler.to_owned()),
    };
    text.split(',').map(feature).collect()
}

pub(super) fn dress(mut pod: PodFacts, words: &Words<'_>) -> PodFacts {
    if let Some(phase) = words.get("phase") {
        pod.phase = self::phase(phase);
        pod.ready = pod.phase == PodPhase::Running;
    }
    set_owners(&mut pod, words);
    pod.gated = words.has("gated");
    if pod.nominated.is_some() || words.has("pending") || pod.gated {
        (pod.node, pod.phase, pod.ready, pod.started) = (None, PodPhase::Pending, false, None);
    }
    if let Some(time) = words.parsed::<SignedDuration>("creating") {
        let since = noon() - time;
        (pod.phase, pod.ready, pod.running_since) = (PodPhase::Pending, false, None);
        (pod.created, pod.started) = (since, Some(since));
    }
    if let Some(time) = words.parsed::<SignedDuration>("started") {
        pod.running_since = Some(noon() - time);
    }
    if words.has("not-started") {
        pod.started = None;
    }
    if words.has("no-age") {
        (pod.created, pod.started) = (jiff::Timestamp::UNIX_EPOCH, None);
    }
    pod.scheduler = words.get("scheduler").map(str::to_owned);
    pod.reason = words.get("reason").map(str::to_owned);
    pod.conditions = words.get("condition").map(condition).into_iter().collect();
    pod.tolerations = words.get("tolerates").map(toleration).into_iter().collect();
    pod.required_nodes = words.get("requires").map(|labels| vec![term(labels)]);
    pod.preferred_nodes = words.get("prefers").map(preferred).into_iter().collect();
    pod.required_anti_affinity =
        words.get("anti-affinity").map(|text| anti_affinity(text, words)).into_iter().collect();
    pod.preferred_terms = words.get("dislikes").map(dislikes).into_iter().collect();
    let spreads = words.get("spread").into_iter().flat_map(|s| s.split(','));
    pod.spread = spreads.map(|text| spread(text, words)).collect();
    pod.containers = words
        .get("image")
        .map(|images| images.split(',').map(container).collect::<Vec<_>>())
        .unwrap_or_default()
        .into();
    for container in Arc::make_mut(&mut pod.containers) {
        container.never_pulled = words.has("never-pulls");
    }
    for (role, prefix) in [(Role::Main, ""), (Role::Init, "init-"), (Role::Ephemeral, "ephemeral-")]
    {
        fare(&mut pod, role, |key| words.get(&format!("{prefix}{key}")));
    }
    pod
}

/// Returns the controller of this kind, such as `ReplicaSet` or `ray.io/RayCluster`, and name.
pub(super) fn owner(kind: &str, name: &str) -> Owner {
    let (group, kind) = kind.rsplit_once('/').unwrap_or(("", kind));
    let (group, kind, name) = (group.to_owned(), kind.to_owned(), name.to_owned());
    Owner { kind, name, controller: true, group, uid: None }
}

fn set_owners(pod: &mut PodFacts, words: &Words<'_>) {
    if let Some(kind) = words.get("owner") {
        pod.owners = vec![owner(kind, &pod.labels["app"])];
    }
    if let Some(revision) = words.get("revision") {
        pod.owners[0].name = format!("{}-{revision}", pod.labels["app"]);
    }
    if words.has("two-owners") {
        let mut second = pod.owners[0].clone();
        (second.name, second.controller) = ("second".to_owned(), false);
        pod.owners.push(second);
    }
}

/// Parses `web*100`: prefers nodes without pods of app web, with this weight.
fn dislikes(text: &str) -> WeightedPodAffinityTerm {
    let (app, weight) = text.split_once('*').unwrap();
    let weight: i64 = weight.parse().unwrap();
    WeightedPodAffinityTerm {
        weight: -weight,
        term: PodAffinityTerm {
            pods: Some(Selector::parse(&format!("app={app}")).unwrap()),
            namespaces: Vec::new(),
            namespace_selector: None,
            topology_key: "kubernetes.io/hostname".to_owned(),
        },
    }
}

/// Parses `zone:1`: spread over zones with the other pods of its app, maxSkew 1. The word `soft` or
/// `zone:1:soft` makes it a preference, and `zone:1:hard` a requirement.
fn spread(text: &str, words: &Words<'_>) -> Spread {
    let parts: Vec<&str> = text.split(':').collect();
    let app = words.first.split('*').next().unwrap();
    Spread {
        max_skew: parts[1].parse().unwrap(),
        topology_key: parts[0].to_owned(),
        hard: parts.get(2).map_or(!words.has("soft"), |kind| *kind == "hard"),
        pods: Some(Selector::parse(&format!("app={app}")).unwrap()),
        min_domains: words.parsed("domains"),
        honours_affinity: true,
        honours_taints: false,
    }
}

fn container(image: &str) -> Container {
    Container {
        name: String::new(),
        role: Role::Main,
        runs: false,
        image: image.to_owned(),
        never_pulled: false,
        requested: vec!["cpu".to_owned()],
        restarts: 0,
        waiting: None,
        ended: None,
    }
}

fn fare<'l>(pod: &mut PodFacts, role: Role, word: impl Fn(&str) -> Option<&'l str>) {
    let (restarts, waits, exits) = (word("restarts"), word("waits"), word("exits"));
    if restarts.or(waits).or(exits).is_none() {
        return;
    }
    let fresh = Container {
        role,
        requested: Vec::new(),
        restarts: restarts.map_or(0, |n| n.parse().unwrap()),
        waiting: waits.map(str::to_owned),
        ended: exits
            .map(|e| e.split_once(':').unwrap())
            .map(|(why, code)| (why.to_owned(), code.parse().unwrap())),
        ..container("")
    };
    match Arc::make_mut(&mut pod.containers).iter_mut().find(|c| c.role == role) {
        Some(found) => {
            *found = Container {
                image: found.image.clone(),
                requested: found.requested.clone(),
                ..fresh
            }
        }
        None => Arc::make_mut(&mut pod.containers).push(fresh),
    }
}

fn phase(name: &str) -> PodPhase {
    PodPhase::ALL.into_iter().find(|p| p.name() == name).unwrap()
}

fn condition(text: &str) -> Condition {
    let [kind, status, reason, age] = text.split(':').collect::<Vec<_>>()[..] else {
        panic!("condition {text}")
    };
    let since = (!age.is_empty()).then(|| noon() - age.parse::<SignedDuration>().unwrap());
    Condition {
        state: ConditionState {
            kind: kind.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
        }
        .into(),
        since,
    }
}

/// Parses `key=value:Effect` or `key:Effect`.
pub(super) fn taint(text: &str) -> Taint {
    let (key, effect) = text.split_once(':').unwrap();
    let (key, value) = key.split_once('=').unwrap_or((key, ""));
    let all = [Effect::NoSchedule, Effect::NoExecute, Effect::PreferNoSchedule];
    let effect = all
        .into_iter()
        .find(|e| format!("{e:?}") == effect)
        .unwrap_or_else(|| panic!("effect {effect}"));
    Taint { key: key.to_owned(), value: value.to_owned(), effect }
}

/// Parses a taint that is tolerated, with `@60` for so many seconds. The key `*` is every taint.
fn toleration(text: &str) -> Toleration {
    let (text, seconds) = text.split_once('@').map_or((text, None), |(t, s)| (t, Some(s)));
    let Taint { key, value, effect } = taint(text);
    let (effect, seconds) = (Some(effect), seconds.map(|text| text.parse().unwrap()));
    if key == "*" {
        return Toleration { key: None, operator: Tolerates::Any, effect: None, seconds };
    }
    Toleration { key: Some(key), operator: Tolerates::Equal(value), effect, seconds }
}

fn selector(labels: Labels) -> Selector {
    Selector::new(
        labels
            .into_iter()
            .map(|(key, value)| Requirement { key, test: Test::In(vec![value]) })
            .collect(),
    )
}

fn term(labels: &str) -> NodeTerm {
    NodeTerm { labels: selector(pairs(labels)), fields: Selector::default() }
}

fn preferred(text: &str) -> (i32, NodeTerm) {
    let (labels, weight) = text.split_once('*').unwrap();
    (weight.parse().unwrap(), term(labels))
}

fn anti_affinity(text: &str, words: &Words<'_>) -> PodAffinityTerm {
    let (app, topology_key) = text.split_once('@').unwrap_or((text, "kubernetes.io/hostname"));
    PodAffinityTerm {
        pods: Some(Selector::parse(&format!("app={app}")).unwrap()),
        namespaces: Vec::new(),
        namespace_selector: words.get("avoids-in").map(|labels| selector(pairs(labels))),
        topology_key: topology_key.to_owned(),
    }
}
