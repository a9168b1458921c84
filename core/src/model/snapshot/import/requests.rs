//! Requests of a pod as the scheduler counts them, and its quality of service class.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::model::api::{
    ApiContainer, ApiContainerStatus, ApiPodSpec, ApiPodStatus, ApiResources, Quantities,
};
use crate::model::snapshot::facts::{NonZeroRequests, Qos, ResourceName};
use crate::values::{Amount, Resources, quantity};

use super::Wrong;

/// Amounts by resource, as the facts of nodes store them.
pub(super) type AmountList = Vec<(String, Amount)>;

/// Amounts by resource, as the facts of pods store them.
pub(super) type PodAmounts = Vec<(ResourceName, Amount)>;

type Amounts = BTreeMap<String, Amount>;

/// Parses amounts by resource. `field` is the path for error messages.
pub(super) fn amounts(field: &str, found: &Quantities) -> Result<AmountList, Wrong> {
    found
        .iter()
        .map(|(name, quantity)| Ok((name.clone(), amount(field, name, &quantity.text)?)))
        .collect()
}

fn amount(field: &str, resource: &str, text: &str) -> Result<Amount, Wrong> {
    quantity::amount(resource, text).map_err(|error| format!("{field}.{resource}: {error}"))
}

fn table(field: &str, found: &Quantities) -> Result<Amounts, Wrong> {
    Ok(amounts(field, found)?.into_iter().collect())
}

/// Returns the requests that the scheduler counts: the sum of containers and sidecars, or the peak
/// of the init containers if that is higher. Pod-level requests take precedence, and overhead is
/// added. Zero amounts are omitted.
pub(super) fn of_pod(spec: &ApiPodSpec, status: &ApiPodStatus) -> Result<PodAmounts, Wrong> {
    let total = of_containers(spec, status, &Amounts::new())?;
    let total = of_whole_pod(spec, status, total)?;
    Ok(of_names(total.into_iter().filter(|(_, amount)| *amount > Amount::ZERO)))
}

/// Returns what the init containers request at most at a time, with the sidecars beside them.
pub(super) fn init_peak(spec: &ApiPodSpec, status: &ApiPodStatus) -> Result<PodAmounts, Wrong> {
    Ok(of_names(containers(spec, status, &Amounts::new())?.init_peak.into_iter()))
}

/// Returns what a pod requests beside its containers.
pub(super) fn overhead(spec: &ApiPodSpec) -> Result<PodAmounts, Wrong> {
    Ok(of_names(amounts("spec.overhead", &spec.overhead)?.into_iter()))
}

/// Stores amounts without room to grow. The names of the usual resources take no memory.
pub(super) fn of_names(amounts: impl Iterator<Item = (String, Amount)>) -> PodAmounts {
    let mut named: PodAmounts = amounts
        .map(|(name, amount)| {
            let usual = Resources::usual(&name);
            (usual.map_or(Cow::Owned(name), Cow::Borrowed), amount)
        })
        .collect();
    named.shrink_to_fit();
    named
}

/// Returns the same with defaults of 100m of cpu and 200Mi of memory for each container without a
/// request. With pod-level requests the defaults apply only to resources that nothing in the pod
/// requests (`getNonMissingContainerRequests` in the scheduler's source).
pub(super) fn non_zero_requests(
    spec: &ApiPodSpec,
    status: &ApiPodStatus,
) -> Result<NonZeroRequests, Wrong> {
    let mut absent = absent();
    if spec.resources.as_ref().is_some_and(|r| r.requests.keys().any(|n| of_pods(n))) {
        let containers = of_containers(spec, status, &Amounts::new())?;
        let requested = of_whole_pod(spec, status, containers)?;
        absent.retain(|name, _| !requested.contains_key(name));
    }
    let containers = of_containers(spec, status, &absent)?;
    Ok(cpu_and_memory(&of_whole_pod(spec, status, containers)?))
}

/// Returns the same without pod-level requests.
pub(super) fn non_zero_requests_of_containers(
    spec: &ApiPodSpec,
    status: &ApiPodStatus,
) -> Result<NonZeroRequests, Wrong> {
    let mut total = of_containers(spec, status, &absent())?;
    add(&mut total, &table("spec.overhead", &spec.overhead)?);
    Ok(cpu_and_memory(&total))
}

fn absent() -> Amounts {
    let each = NonZeroRequests::PER_CONTAINER;
    Amounts::from([("cpu".to_owned(), each.cpu), ("memory".to_owned(), each.memory)])
}

fn cpu_and_memory(total: &Amounts) -> NonZeroRequests {
    let [cpu, memory] = amounts_of(total);
    NonZeroRequests { cpu, memory }
}

fn amounts_of(table: &Amounts) -> [Amount; 2] {
    ["cpu", "memory"].map(|name| table.get(name).copied().unwrap_or_default())
}

/// Returns true for resources that pod-level requests support.
fn of_pods(resource: &str) -> bool {
    resource == "cpu" || resource == "memory" || resource.starts_with("hugepages-")
}

/// The requests of the containers of a pod.
#[derive(Default)]
struct ContainerRequests {
    /// The sum of those that run together: containers and sidecars.
    running: Amounts,
    /// The most of the init containers. They run one after the other, each with the sidecars that
    /// were started before it.
    init_peak: Amounts,
}

/// Returns what the containers request together at most.
fn of_containers(
    spec: &ApiPodSpec,
    status: &ApiPodStatus,
    absent: &Amounts,
) -> Result<Amounts, Wrong> {
    let ContainerRequests { mut running, init_peak } = containers(spec, status, absent)?;
    raise(&mut running, &init_peak);
    Ok(running)
}

/// Sums the requests of the containers. `absent` replaces missing entries of a container.
fn containers(
    spec: &ApiPodSpec,
    status: &ApiPodStatus,
    absent: &Amounts,
) -> Result<ContainerRequests, Wrong> {
    let infeasible = resize_infeasible(status);
    let with_absent = |mut own: Amounts| {
        for (name, amount) in absent {
            own.entry(name.clone()).or_insert(*amount);
        }
        own
    };
    let mut requests = ContainerRequests::default();
    for (i, container) in spec.containers.iter().enumerate() {
        let status = find(&status.container_statuses, &container.name);
        let own = of_container(&format!("spec.containers[{i}]"), container, status, infeasible)?;
        add(&mut requests.running, &with_absent(own));
    }
    let mut sidecars = Amounts::new();
    for (i, container) in spec.init_containers.iter().enumerate() {
        let status = find(&status.init_container_statuses, &container.name);
        // Only sidecars can be resized.
        let own = with_absent(of_container(
            &format!("spec.initContainers[{i}]"),
            container,
            status.filter(|_| is_sidecar(container)),
            infeasible,
        )?);
        if is_sidecar(container) {
            add(&mut requests.running, &own);
            add(&mut sidecars, &own);
        } else {
            let mut together = sidecars.clone();
            add(&mut together, &own);
            raise(&mut requests.init_peak, &together);
        }
    }
    Ok(requests)
}

/// Applies the pod-level requests.
fn of_whole_pod(
    spec: &ApiPodSpec,
    status: &ApiPodStatus,
    mut total: Amounts,
) -> Result<Amounts, Wrong> {
    let asked = of_whole(spec, &total)?;
    total.extend(resized(status, asked)?);
    add(&mut total, &table("spec.overhead", &spec.overhead)?);
    Ok(total)
}

/// Returns the pod-level requests in force while the whole pod is resized. Only resources that the
/// pod asks for at pod level count.
fn resized(status: &ApiPodStatus, asked: Amounts) -> Result<Amounts, Wrong> {
    let Some(has) = status.resources.as_ref().filter(|_| !asked.is_empty()) else {
        return Ok(asked);
    };
    let node = NodeRequests {
        field: "status",
        allocated: &status.allocated_resources,
        actual: &has.requests,
    };
    let most = node.largest(asked.clone(), resize_infeasible(status))?;
    let each = asked.into_keys().map(|name| {
        let amount = most.get(&name).copied().unwrap_or_default();
        (name, amount)
    });
    Ok(each.collect())
}

pub(super) fn is_sidecar(container: &ApiContainer) -> bool {
    container.restart_policy == "Always"
}

fn find<'s>(statuses: &'s [ApiContainerStatus], name: &str) -> Option<&'s ApiContainerStatus> {
    statuses.iter().find(|s| s.name == name)
}

/// Returns true if the node can never grant a pending resize. The requests of the spec then do not
/// take effect.
fn resize_infeasible(status: &ApiPodStatus) -> bool {
    let pending = status.conditions.iter().find(|c| c.kind == "PodResizePending");
    pending.is_some_and(|c| c.reason == "Infeasible")
}

/// The requests of a container or of a whole pod that the node has allocated, and those that are in
/// force.
struct NodeRequests<'s> {
    /// The path of the status, for error messages.
    field: &'static str,
    allocated: &'s Quantities,
    actual: &'s Quantities,
}

impl NodeRequests<'_> {
    /// While a resize is under way, the largest of the desired, allocated and actual requests
    /// counts; without the desired ones if the node can never grant them
    /// (`determineEffectiveRequests` in k8s.io/component-helpers/resource).
    fn largest(&self, asked: Amounts, infeasible: bool) -> Result<Amounts, Wrong> {
        let mut most = if infeasible { Amounts::new() } else { asked };
        let actual = format!("{}.resources.requests", self.field);
        raise(&mut most, &table(&actual, self.actual)?);
        let allocated = format!("{}.allocatedResources", self.field);
        raise(&mut most, &table(&allocated, self.allocated)?);
        Ok(most)
    }
}

fn of_container(
    field: &str,
    container: &ApiContainer,
    status: Option<&ApiContainerStatus>,
    infeasible: bool,
) -> Result<Amounts, Wrong> {
    let asked = defaulted(field, &container.resources)?;
    let Some((status, has)) = status.and_then(|s| s.resources.as_ref().map(|has| (s, has))) else {
        return Ok(asked);
    };
    let node = NodeRequests {
        field: "status.containerStatuses[]",
        allocated: &status.allocated_resources,
        actual: &has.requests,
    };
    node.largest(asked, infeasible)
}

/// Returns the requests of a container. The API server copies a missing request from the limit; an
/// object from a file may lack that.
fn defaulted(field: &str, resources: &ApiResources) -> Result<Amounts, Wrong> {
    let mut amounts = table(&format!("{field}.resources.limits"), &resources.limits)?;
    amounts.extend(table(&format!("{field}.resources.requests"), &resources.requests)?);
    Ok(amounts)
}

/// Returns the pod-level requests. A pod-level limit replaces a missing request only if no
/// container requests that resource.
fn of_whole(spec: &ApiPodSpec, containers: &Amounts) -> Result<Amounts, Wrong> {
    let Some(resources) = &spec.resources else {
        return Ok(Amounts::new());
    };
    let mut amounts = table("spec.resources.limits", &resources.limits)?;
    // Before the requests are added, because those always count.
    amounts.retain(|name, _| !containers.contains_key(name));
    amounts.extend(table("spec.resources.requests", &resources.requests)?);
    // Kubernetes supports pod-level resources only for some resources.
    amounts.retain(|name, _| of_pods(name));
    Ok(amounts)
}

fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let slot = sum.entry(name.clone()).or_default();
        *slot = slot.plus(*amount);
    }
}

fn raise(most: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        let slot = most.entry(name.clone()).or_default();
        *slot = (*slot).max(*amount);
    }
}

/// Computes the class as the API server does, from cpu and memory only.
pub(super) fn qos(spec: &ApiPodSpec) -> Result<Qos, Wrong> {
    let containers = spec.containers.iter().chain(spec.init_containers.iter());
    let all: Vec<&ApiResources> = match &spec.resources {
        Some(whole) if !whole.requests.is_empty() || !whole.limits.is_empty() => vec![whole],
        _ => containers.map(|c| &c.resources).collect(),
    };
    let mut classes = Vec::new();
    for resources in all {
        let limits = table("resources.limits", &resources.limits)?;
        classes.push(qos_of(&limits, &defaulted("spec", resources)?));
    }
    // One container without requests prevents Guaranteed, and one container with requests prevents
    // BestEffort.
    Ok(match (classes.iter().min(), classes.iter().max()) {
        (Some(least), Some(most)) if least == most => *least,
        (Some(_), Some(_)) => Qos::Burstable,
        _ => Qos::BestEffort,
    })
}

fn qos_of(limits: &Amounts, requests: &Amounts) -> Qos {
    let (limits, requests) = (amounts_of(limits), amounts_of(requests));
    if limits == [Amount::ZERO; 2] && requests == [Amount::ZERO; 2] {
        Qos::BestEffort
    } else if limits == requests && !limits.contains(&Amount::ZERO) {
        Qos::Guaranteed
    } else {
        Qos::Burstable
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::value_of;

    fn spec(text: &str) -> ApiPodSpec {
        serde_saphyr::from_str(text).unwrap()
    }

    fn requests(spec_text: &str, status: &str) -> String {
        let listed = of_pod(&spec(spec_text), &serde_saphyr::from_str(status).unwrap()).unwrap();
        let shown: Vec<_> = listed
            .iter()
            .map(|(name, amount)| match name.as_ref() {
                "cpu" => format!("cpu={}m", amount.get() / 1_000_000),
                other => format!("{other}={}", amount.get()),
            })
            .collect();
        shown.join(" ")
    }

    #[test]
    fn requests_are_summed_and_a_limit_replaces_a_missing_request() {
        let text = "{containers: [{name: a, resources: {requests: {cpu: 100m, gpu: 0}, limits: {cpu: 1, memory: 5}}},
                                  {name: b, resources: {requests: {cpu: 50m, memory: 6}}}]}";
        assert_eq!(requests(text, "{}"), "cpu=150m memory=11");
    }

    #[test]
    fn init_containers_count_only_if_their_peak_is_higher() {
        let text = |init: &str| {
            format!(
                "{{initContainers: [{init}], containers: [{{name: c,
                  resources: {{requests: {{cpu: 1}}}}}}]}}"
            )
        };
        let small = "{name: a, resources: {requests: {cpu: 600m}}}, {name: b, resources: {requests: {cpu: 700m}}}";
        assert_eq!(requests(&text(small), "{}"), "cpu=1000m");
        assert_eq!(
            requests(&text("{name: a, resources: {requests: {cpu: 3, memory: 1}}}"), "{}"),
            "cpu=3000m memory=1"
        );
    }

    #[test]
    fn the_peak_of_the_init_containers_has_the_sidecars_before_it_and_no_sidecar_alone() {
        let peak = |init: &str| {
            let spec = spec(&format!("{{initContainers: [{init}], containers: [{{name: c}}]}}"));
            let cpu = value_of(&init_peak(&spec, &ApiPodStatus::default()).unwrap(), "cpu");
            cpu.map(|cpu| cpu.get() / 1_000_000)
        };
        let sidecar = "{name: s, restartPolicy: Always, resources: {requests: {cpu: 500m}}}";
        let init = "{name: i, resources: {requests: {cpu: 2}}}";
        assert_eq!(peak(sidecar), None);
        assert_eq!(peak(&format!("{init}, {sidecar}")), Some(2000));
        assert_eq!(peak(&format!("{sidecar}, {init}, {init}")), Some(2500));
    }

    #[test]
    fn a_sidecar_adds_to_the_containers_and_to_later_init_containers() {
        let sidecar = "{name: s, restartPolicy: Always, resources: {requests: {cpu: 500m}}}";
        let init = "{name: i, resources: {requests: {cpu: 2}}}";
        let text = |all: &str| {
            format!(
                "{{initContainers: [{all}], containers: [{{name: c,
                  resources: {{requests: {{cpu: 1}}}}}}]}}"
            )
        };
        assert_eq!(requests(&text(sidecar), "{}"), "cpu=1500m");
        assert_eq!(requests(&text(&format!("{sidecar}, {init}")), "{}"), "cpu=2500m");
        assert_eq!(requests(&text(&format!("{init}, {sidecar}")), "{}"), "cpu=2000m");
    }

    #[test]
    fn pod_level_requests_take_precedence_and_overhead_is_added() {
        let text = "{containers: [{name: c, resources: {requests: {cpu: 1, memory: 9, gpu: 1}}}],
                     resources: {requests: {cpu: 2, gpu: 7}, limits: {memory: 99, hugepages-2Mi: \
            4}}, overhead: {cpu: 250m, memory: 1}}";
        assert_eq!(requests(text, "{}"), "cpu=2250m gpu=1 hugepages-2Mi=4 memory=10");
    }

    #[test]
    fn a_container_without_requests_gets_the_scoring_defaults() {
        let non_zero_requests = |text: &str| {
            let found = non_zero_requests(&spec(text), &ApiPodStatus::default()).unwrap();
            (found.cpu.get() / 1_000_000, found.memory.get() >> 20)
        };
        assert_eq!(non_zero_requests("{containers: [{name: a}, {name: b}]}"), (200, 400));
        assert_eq!(
            non_zero_requests("{containers: [{name: a, resources: {requests: {cpu: 0}}}]}"),
            (0, 200)
        );
        assert_eq!(
            non_zero_requests(
                "{containers: [{name: a, resources: {requests: {cpu: 1, memory: 1Mi}}}]}"
            ),
            (1000, 1)
        );
        let init = "{containers: [{name: a}], overhead: {cpu: 10m}, initContainers: [{name: s, restartPolicy: Always},
                     {name: i, resources: {requests: {cpu: 1}}}]}";
        assert_eq!(non_zero_requests(init), (1110, 400));
        let whole = "{resources: {requests: {cpu: 5}}, containers: [{name: a}, {name: b, resources: {requests: {memory: 1Mi}}}]}";
        assert_eq!(non_zero_requests(whole), (5000, 1));
        let alone =
            non_zero_requests_of_containers(&spec(whole), &ApiPodStatus::default()).unwrap();
        assert_eq!((alone.cpu.get() / 1_000_000, alone.memory.get() >> 20), (200, 201));
    }

    #[test]
    fn the_largest_request_counts_during_a_resize() {
        let text = "{containers: [{name: c, resources: {requests: {cpu: 1}}}]}";
        let status = |conditions: &str| {
            format!(
                "{{conditions: [{conditions}], containerStatuses: [{{name: c,
                 allocatedResources: {{cpu: 2}},
                   resources: {{requests: {{cpu: 1500m}}}}}}]}}"
            )
        };
        assert_eq!(requests(text, &status("")), "cpu=2000m");
        let larger = "{containers: [{name: c, resources: {requests: {cpu: 64}}}]}";
        assert_eq!(requests(larger, &status("")), "cpu=64000m");
        let never = status("{type: PodResizePending, status: 'True', reason: Infeasible}");
        assert_eq!(requests(larger, &never), "cpu=2000m");
    }

    #[test]
    fn the_largest_pod_level_request_counts_during_a_resize() {
        let text = "{containers: [{name: a}], resources: {requests: {cpu: 1, memory: 5}}}";
        let status = |pending: &str| {
            format!(
                "{{conditions: [{pending}], allocatedResources: {{cpu: 9, memory: 3, gpu: 7}},
                   resources: {{requests: {{cpu: 4, memory: 4}}}}}}"
            )
        };
        assert_eq!(requests(text, &status("")), "cpu=9000m memory=5");
        // Requests that the node can never grant do not count.
        let never = status("{type: PodResizePending, status: 'True', reason: Infeasible}");
        assert_eq!(requests(text, &never), "cpu=9000m memory=4");
        // Without pod-level requests in the spec, the status of the whole pod does not count.
        let plain = "{containers: [{name: a, resources: {requests: {cpu: 2}}}]}";
        assert_eq!(requests(plain, &status("")), "cpu=2000m");
        // The status counts only as a whole.
        assert_eq!(requests(text, "{allocatedResources: {cpu: 9}}"), "cpu=1000m memory=5");
    }

    #[test]
    fn an_init_container_that_ends_is_not_resized() {
        let text = |policy: &str| {
            format!(
                "{{containers: [], initContainers: [{{name: i, {policy}
                  resources: {{requests: {{cpu: 1}}}}}}]}}"
            )
        };
        let status = "{initContainerStatuses: [{name: i, allocatedResources: {cpu: 9}, resources: {requests: {cpu: 9}}}]}";
        assert_eq!(requests(&text(""), status), "cpu=1000m");
        assert_eq!(requests(&text("restartPolicy: Always,"), status), "cpu=9000m");
    }

    #[test]
    fn the_quality_of_service_follows_from_requests_and_limits() {
        let full = "{limits: {cpu: 1, memory: 1}}";
        for (containers, expected) in [
            ("[]".to_owned(), Qos::BestEffort),
            ("[{name: a}]".to_owned(), Qos::BestEffort),
            (format!("[{{name: a, resources: {full}}}]"), Qos::Guaranteed),
            (format!("[{{name: a, resources: {full}}}, {{name: b}}]"), Qos::Burstable),
            ("[{name: a, resources: {limits: {cpu: 1}}}]".to_owned(), Qos::Burstable),
            (
                "[{name: a, resources: {limits: {cpu: 1, memory: 1}, requests: {cpu: 500m}}}]"
                    .to_owned(),
                Qos::Burstable,
            ),
            ("[{name: a, resources: {requests: {gpu: 1}}}]".to_owned(), Qos::BestEffort),
        ] {
            assert_eq!(
                qos(&spec(&format!("{{containers: {containers}}}"))),
                Ok(expected),
                "{containers}"
            );
        }
        let whole = format!("{{containers: [{{name: a}}], resources: {full}}}");
        assert_eq!(qos(&spec(&whole)), Ok(Qos::Guaranteed));
    }
}
