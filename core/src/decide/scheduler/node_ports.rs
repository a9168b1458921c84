//! NodePorts: no two pods on a node use the same host port on the same address. `0.0.0.0` is every
//! address. Before Kubernetes 1.33 the ports of sidecars did not count.

use crate::model::snapshot::NodeId;
use crate::model::snapshot::facts::HostPort;
use crate::policy::FilterPlugin;

use super::nominated::NominatedPods;
use super::question::Question;

/// Returns the nodes where a host port of the pod is in use or reserved, sorted.
pub(super) fn taken(question: &Question<'_, '_>, nominated: &NominatedPods) -> Vec<NodeId> {
    let sidecars = question.profile.release.counts_ports_of_sidecars();
    let counts = |port: &&HostPort| sidecars || !port.of_sidecar;
    let wanted: Vec<&HostPort> = question.pod.ports.iter().filter(counts).collect();
    if wanted.is_empty() || !question.runs(FilterPlugin::NodePorts) {
        return Vec::new();
    }
    let others = question
        .index()
        .with_ports()
        .iter()
        .flat_map(|p| question.places(*p).map(move |node| (p, node)))
        .chain(nominated.all().iter().map(|(node, p)| (p, *node)));
    let clashing = others.filter(|(p, _)| {
        let used = &question.snapshot.pod(**p).ports;
        let clashes = |u: &HostPort| wanted.iter().any(|w| clash(w, u));
        used.iter().filter(counts).any(clashes)
    });
    let mut nodes: Vec<NodeId> = clashing.map(|(_, node)| node).collect();
    nodes.sort_unstable();
    nodes
}

fn clash(one: &HostPort, other: &HostPort) -> bool {
    let every = |port: &HostPort| port.ip == "0.0.0.0";
    one.port == other.port
        && one.protocol == other.protocol
        && (every(one) || every(other) || one.ip == other.ip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_clash_by_number_protocol_and_address() {
        let port = |ip: &str, protocol: &str, port| HostPort {
            ip: ip.to_owned(),
            protocol: protocol.to_owned(),
            port,
            of_sidecar: false,
        };
        let one = port("10.0.0.1", "TCP", 80);
        assert!(clash(&one, &one));
        assert!(
            clash(&one, &port("0.0.0.0", "TCP", 80)) && clash(&port("0.0.0.0", "TCP", 80), &one)
        );
        assert!(!clash(&one, &port("10.0.0.2", "TCP", 80)));
        assert!(!clash(&one, &port("10.0.0.1", "UDP", 80)));
        assert!(!clash(&one, &port("10.0.0.1", "TCP", 81)));
    }
}
