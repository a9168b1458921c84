//! Conversion of containers and their statuses.

use jiff::Timestamp;

use crate::model::api::{
    ApiCondition, ApiContainer, ApiContainerStatus, ApiPodSpec, ApiPodStatus, ApiPort,
    ApiResources, ApiTerminated,
};
use crate::model::snapshot::facts::{Container, HostPort, Role};

use super::{Wrong, count, requests, time};

/// Converts the containers of the spec, in order. A status without a container in the spec is
/// ignored.
pub(super) fn of_pod(spec: &ApiPodSpec, status: &ApiPodStatus) -> Result<Vec<Container>, Wrong> {
    let main = spec.containers.iter();
    let init = spec.init_containers.iter();
    let ephemeral = spec.ephemeral_containers.iter().map(|e| &e.container);
    let all = main
        .map(|c| (Role::Main, c, &status.container_statuses))
        .chain(init.map(|c| (Role::Init, c, &status.init_container_statuses)))
        .chain(ephemeral.map(|c| (Role::Ephemeral, c, &status.ephemeral_container_statuses)));
    let ready = status.conditions.iter().any(is_ready);
    all.map(|(role, container, statuses)| read(role, container, statuses, ready)).collect()
}

/// Returns true for the condition of a pod whose containers all run.
pub(super) fn is_ready(condition: &ApiCondition) -> bool {
    condition.kind == "Ready" && condition.status == "True"
}

/// Returns when the first main container started, without those that have restarted since. Their
/// start says nothing about when the pod began to run.
pub(super) fn running_since(status: &ApiPodStatus) -> Option<Timestamp> {
    let first_runs = status.container_statuses.iter();
    let first_runs = first_runs.filter(|status| status.restart_count == 0);
    let starts = first_runs.filter_map(|status| status.state.running.as_ref()?.started_at);
    // A time that cannot be read is like none.
    let starts = starts.filter_map(|at| time("state.running.startedAt", Some(at)).ok()?);
    starts.min()
}

fn read(
    role: Role,
    container: &ApiContainer,
    statuses: &[ApiContainerStatus],
    ready: bool,
) -> Result<Container, Wrong> {
    let name = &container.name;
    let status = statuses.iter().find(|s| s.name == *name);
    let state = status.map(|s| &s.state);
    let field = format!("status of container {name:?}: restartCount");
    let ended = |t: &ApiTerminated| (t.reason.clone(), t.exit_code);
    // An object from a file may lack the status. A pod is Ready only while its containers run.
    let lasting = role == Role::Main || (role == Role::Init && requests::is_sidecar(container));
    let runs = state.map_or(ready && lasting, |s| s.running.is_some());
    Ok(Container {
        name: name.clone(),
        role,
        runs,
        image: container.image.clone(),
        never_pulled: container.image_pull_policy == "Never",
        requested: requested(&container.resources),
        restarts: count(&field, status.map_or(0, |s| s.restart_count))?,
        waiting: state.and_then(|s| s.waiting.as_ref()).and_then(|w| w.reason.clone()),
        ended: state.and_then(|s| s.terminated.as_ref()).map(ended),
    })
}

/// Returns the resources that a container requests. The API server copies a missing request from
/// the limit; an object from a file may lack that.
fn requested(resources: &ApiResources) -> Vec<String> {
    let ApiResources { requests, limits } = resources;
    let mut names: Vec<String> = requests.keys().chain(limits.keys()).cloned().collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the host ports of containers and sidecars. Init containers release theirs.
pub(super) fn host_ports(spec: &ApiPodSpec) -> Vec<HostPort> {
    let sidecars = spec.init_containers.iter().filter(|c| requests::is_sidecar(c));
    let of_sidecars = sidecars.flat_map(|c| &c.ports).map(|port| (port, true));
    let main = spec.containers.iter().flat_map(|c| &c.ports);
    let all = of_sidecars.chain(main.map(|port| (port, false)));
    all.filter_map(|(port, of_sidecar)| host_port(spec, port, of_sidecar)).collect()
}

/// Returns the host port of a port. In the network of the node every port is one, which the API
/// server writes down (`defaultHostNetworkPorts` in kubernetes/pkg/apis/core/v1/defaults.go); an
/// object from a file may lack that.
fn host_port(spec: &ApiPodSpec, port: &ApiPort, of_sidecar: bool) -> Option<HostPort> {
    let or = |text: &str, other: &str| if text.is_empty() { other } else { text }.to_owned();
    // Zero means no host port, as in the API.
    let number =
        if port.host_port == 0 && spec.host_network { port.container_port } else { port.host_port };
    (number > 0).then(|| HostPort {
        ip: or(&port.host_ip, "0.0.0.0"),
        protocol: or(&port.protocol, "TCP"),
        port: number,
        of_sidecar,
    })
}
