//! The memory at which containers of a pod were killed.

use crate::model::api::{ApiContainer, ApiContainerStatus, ApiPodSpec, ApiPodStatus, Quantities};
use crate::values::{Amount, value_of};

use super::{Wrong, requests};

/// The reason of the kubelet for a container that the kernel killed because memory ran out.
const REASON: &str = "OOMKilled";

/// Returns the memory that the pod needs at least because a container was killed: its request, with
/// the limit of each such container instead of its own request. `None` if no container was killed.
///
/// The source measures pods, so it is not known which container used how much.
pub(super) fn memory(spec: &ApiPodSpec, status: &ApiPodStatus) -> Result<Option<Amount>, Wrong> {
    let all = spec
        .containers
        .iter()
        .map(|c| (c, &status.container_statuses))
        .chain(spec.init_containers.iter().map(|c| (c, &status.init_container_statuses)));
    let mut more = None;
    for (container, statuses) in all {
        let found = statuses.iter().find(|s| s.name == container.name);
        if let Some(status) = found.filter(|status| was_killed(status)) {
            let sum = more.unwrap_or(Amount::ZERO);
            more = Some(sum.plus(above_request(container, status)?));
        }
    }
    let Some(more) = more else { return Ok(None) };
    let requests = requests::of_pod(spec, status)?;
    let request = value_of(&requests, "memory").unwrap_or_default();
    Ok(Some(request.plus(more).max(of_whole_pod(spec)?)))
}

fn was_killed(status: &ApiContainerStatus) -> bool {
    let ends = [&status.last_state.terminated, &status.state.terminated];
    ends.into_iter().flatten().any(|end| end.reason == REASON)
}

/// Returns the part of a container's limit above its request.
fn above_request(container: &ApiContainer, status: &ApiContainerStatus) -> Result<Amount, Wrong> {
    let spec = &container.resources;
    // After a resize, the limit in force is in the status.
    let limits = match &status.resources {
        Some(actual) if !actual.limits.is_empty() => &actual.limits,
        _ => &spec.limits,
    };
    let limit = memory_of("limits", limits)?.unwrap_or_default();
    // The API server copies a missing request from the limit.
    let request = memory_of("requests", &spec.requests)?.unwrap_or(limit);
    Ok(limit.minus(request))
}

/// Returns the limit of the pod as a whole; zero without one.
fn of_whole_pod(spec: &ApiPodSpec) -> Result<Amount, Wrong> {
    let limits = spec.resources.as_ref().map(|resources| &resources.limits);
    let limit = limits.map_or(Ok(None), |limits| memory_of("limits", limits))?;
    Ok(limit.unwrap_or_default())
}

fn memory_of(field: &str, amounts: &Quantities) -> Result<Option<Amount>, Wrong> {
    let amounts = requests::amounts(&format!("resources.{field}"), amounts)?;
    Ok(value_of(&amounts, "memory"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn killed(containers: &str, killed: &[&str]) -> Option<Amount> {
        let spec = format!("{{containers: [{containers}]}}");
        let status = |name: &str| {
            let end = format!("terminated: {{exitCode: 137, reason: {REASON}}}");
            format!("{{name: {name}, state: {{running: {{}}}}, lastState: {{{end}}}}}")
        };
        let statuses: Vec<String> = killed.iter().map(|name| status(name)).collect();
        let status = format!("{{containerStatuses: [{}]}}", statuses.join(", "));
        let spec = serde_saphyr::from_str(&spec).unwrap();
        memory(&spec, &serde_saphyr::from_str(&status).unwrap()).unwrap()
    }

    #[test]
    fn the_limit_at_which_a_container_was_killed_replaces_its_request() {
        let mebi = |n: u64| Some(Amount::new(n << 20));
        let of = |name, request, limit| {
            let (request, limit) = (format!("memory: {request}Mi"), format!("memory: {limit}Mi"));
            let resources = format!("{{requests: {{{request}}}, limits: {{{limit}}}}}");
            format!("{{name: {name}, resources: {resources}}}")
        };
        let both = format!("{}, {}", of("web", 256, 1024), of("log", 32, 64));
        assert_eq!(killed(&both, &[]), None);
        assert_eq!(killed(&both, &["web"]), mebi(1024 + 32));
        assert_eq!(killed(&both, &["log"]), mebi(256 + 64));
        assert_eq!(killed("{name: web}", &["web"]), Some(Amount::ZERO));
    }
}
