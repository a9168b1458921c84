//! The DaemonSet controller: which nodes get a pod.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::decide::scheduler;
use crate::model::snapshot::objects::Name;
use crate::simulate::cluster::{PodTemplate, SimulatedCluster};
use crate::simulate::setting;

use super::initial_template;

/// Returns the missing pods of a DaemonSet. Each is created for one node, so in effect the
/// DaemonSet schedules them.
pub(super) fn everywhere(cluster: &mut SimulatedCluster, work: usize, own: &[Name]) {
    let here: BTreeSet<&str> = own
        .iter()
        .filter_map(|n| cluster.pods.get(n))
        .filter_map(|l| l.facts.node.as_deref())
        .collect();
    // Cordoned nodes are included: pods of a DaemonSet tolerate `unschedulable`.
    let lacks = cluster
        .nodes
        .iter()
        .filter(|(name, machine)| !here.contains(name.as_str()) && machine.down.is_none());
    let lacks: Vec<String> = lacks.map(|(name, _)| name.clone()).collect();
    for node in lacks {
        let Some(template) = template_for(cluster, work, &node) else {
            continue;
        };
        let name = format!("{}-{}", cluster.works[work].key.name, cluster.random.suffix());
        let at = setting::made_at(cluster, work);
        let name = cluster.create(work, name, template, at);
        cluster.bind(&name, &node, at);
    }
}

/// Returns the template of a DaemonSet's pod for a node, by the rules of the scheduler forecast;
/// `None` if none may run there. A recorded pod belongs to its own node.
fn template_for(
    cluster: &mut SimulatedCluster,
    work: usize,
    node: &str,
) -> Option<Rc<PodTemplate>> {
    let machine = &cluster.nodes.get(node)?.facts;
    let fits = |template: &PodTemplate| {
        let pod = &template.facts;
        pod.node.as_deref().is_none_or(|own| own == node)
            && scheduler::admits(pod, machine)
            && scheduler::tolerates_all(pod, machine)
    };
    let workload = &mut cluster.works[work];
    let left = workload.vacant.iter().position(|v| fits(&v.template));
    match left.and_then(|left| workload.vacant.remove(left)) {
        Some(vacancy) => Some(vacancy.template),
        None => initial_template(workload).filter(|template| fits(template)),
    }
}
