//! Conversion of containers and their statuses.

use k8s_openapi::api::core::v1 as core;

use crate::model::snapshot::facts::{Container, HostPort, Role};

use super::{Wrong, count, requests};

/// Converts the containers of the spec, in order. A status without a container in the spec is
/// ignored.
pub(super) fn of_pod(
    spec: &core::PodSpec,
    status: &core::PodStatus,
) -> Result<Vec<Container>, Wrong> {
    let mut all = Vec::new();
    for container in &spec.containers {
        let part = (
            container.name.as_str(),
            &container.image,
            container.resources.as_ref(),
        );
        all.push(read(
            Role::Main,
            part,
            status.container_statuses.as_deref(),
        )?);
    }
    for container in spec.init_containers.iter().flatten() {
        let part = (
            container.name.as_str(),
            &container.image,
            container.resources.as_ref(),
        );
        all.push(read(
            Role::Init,
            part,
            status.init_container_statuses.as_deref(),
        )?);
    }
    for container in spec.ephemeral_containers.iter().flatten() {
        let part = (
            container.name.as_str(),
            &container.image,
            container.resources.as_ref(),
        );
        all.push(read(
            Role::Ephemeral,
            part,
            status.ephemeral_container_statuses.as_deref(),
        )?);
    }
    Ok(all)
}

/// The fields that all roles of containers share: name, image and resources.
type ContainerParts<'o> = (
    &'o str,
    &'o Option<String>,
    Option<&'o core::ResourceRequirements>,
);

fn read(
    role: Role,
    part: ContainerParts<'_>,
    statuses: Option<&[core::ContainerStatus]>,
) -> Result<Container, Wrong> {
    let (name, image, resources) = part;
    let status = statuses.unwrap_or_default().iter().find(|s| s.name == name);
    let state = status.and_then(|s| s.state.as_ref());
    let field = format!("status of container {name:?}: restartCount");
    let ended =
        |t: &core::ContainerStateTerminated| (t.reason.clone().unwrap_or_default(), t.exit_code);
    Ok(Container {
        role,
        image: image.clone().unwrap_or_default(),
        requested: requested(resources),
        restarts: count(&field, status.map(|s| s.restart_count))?,
        waiting: state
            .and_then(|s| s.waiting.as_ref())
            .and_then(|w| w.reason.clone()),
        ended: state.and_then(|s| s.terminated.as_ref()).map(ended),
    })
}

/// Returns the resources that a container requests. The API server copies a missing request from
/// the limit; an object from a file may lack that.
fn requested(resources: Option<&core::ResourceRequirements>) -> Vec<String> {
    let tables = resources
        .into_iter()
        .flat_map(|r| [r.requests.as_ref(), r.limits.as_ref()]);
    let mut names: Vec<String> = tables.flatten().flat_map(|t| t.keys().cloned()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the host ports of containers and sidecars. Init containers release theirs.
pub(super) fn host_ports(spec: &core::PodSpec) -> Vec<HostPort> {
    let sidecars = spec
        .init_containers
        .iter()
        .flatten()
        .filter(|c| requests::is_sidecar(c));
    let ports = sidecars
        .chain(&spec.containers)
        .flat_map(|c| c.ports.iter().flatten());
    ports.filter_map(host_port).collect()
}

fn host_port(port: &core::ContainerPort) -> Option<HostPort> {
    let or = |text: &Option<String>, other: &str| {
        text.clone()
            .filter(|t| !t.is_empty())
            .unwrap_or(other.to_owned())
    };
    // Zero means no host port, as in the API.
    let number = port.host_port.filter(|p| *p > 0)?;
    Some(HostPort {
        ip: or(&port.host_ip, "0.0.0.0"),
        protocol: or(&port.protocol, "TCP"),
        port: number,
    })
}
