//! Conversion of node affinity and pod affinity.

use crate::model::api::{
    ApiNodeSelectorTerm, ApiPodAffinityTerm, ApiPodSpec, ApiRequirement, ApiWeightedTerm,
};
use crate::model::snapshot::facts::{PodAffinityTerm, WeightedPodAffinityTerm};
use crate::values::selector::{Labels, NodeTerm, Requirement, Selector, Test};

use super::{Wrong, label_selector};

/// Converts required node affinity.
pub(super) fn required_nodes(spec: &ApiPodSpec) -> Result<Option<Vec<NodeTerm>>, Wrong> {
    let Some(required) = &spec.affinity.node_affinity.required else {
        return Ok(None);
    };
    let field = "spec.affinity.nodeAffinity.required";
    let terms = required.node_selector_terms.iter().enumerate();
    terms
        .map(|(i, term)| node_term(&format!("{field}[{i}]"), term))
        .collect::<Result<_, _>>()
        .map(Some)
}

/// Converts preferred node affinity, with weights.
pub(super) fn preferred_nodes(spec: &ApiPodSpec) -> Result<Vec<(i32, NodeTerm)>, Wrong> {
    let field = "spec.affinity.nodeAffinity.preferred";
    let terms = spec.affinity.node_affinity.preferred.iter().enumerate();
    terms
        .map(|(i, term)| Ok((term.weight, node_term(&format!("{field}[{i}]"), &term.preference)?)))
        .collect()
}

/// Converts a node selector term.
pub(super) fn node_term(field: &str, term: &ApiNodeSelectorTerm) -> Result<NodeTerm, Wrong> {
    Ok(NodeTerm {
        labels: node_selector(&format!("{field}.matchExpressions"), &term.match_expressions)?,
        fields: node_selector(&format!("{field}.matchFields"), &term.match_fields)?,
    })
}

fn node_selector(field: &str, found: &[ApiRequirement]) -> Result<Selector, Wrong> {
    let parts = found.iter().map(|r| (r.key.clone(), r.operator.clone(), r.values.clone()));
    Selector::from_parts(&Labels::new(), parts).map_err(|error| format!("{field}: {error}"))
}

/// Converts required anti-affinity of a pod with these labels.
pub(super) fn required_anti_affinity(
    spec: &ApiPodSpec,
    own: &Labels,
) -> Result<Vec<PodAffinityTerm>, Wrong> {
    let terms = &spec.affinity.pod_anti_affinity.required;
    required("spec.affinity.podAntiAffinity", terms, own)
}

/// Converts required affinity of a pod with these labels.
pub(super) fn required_affinity(
    spec: &ApiPodSpec,
    own: &Labels,
) -> Result<Vec<PodAffinityTerm>, Wrong> {
    let terms = &spec.affinity.pod_affinity.required;
    required("spec.affinity.podAffinity", terms, own)
}

/// Converts preferred affinity and anti-affinity of a pod with these labels.
pub(super) fn preferred_terms(
    spec: &ApiPodSpec,
    own: &Labels,
) -> Result<Vec<WeightedPodAffinityTerm>, Wrong> {
    let near = &spec.affinity.pod_affinity.preferred;
    let far = &spec.affinity.pod_anti_affinity.preferred;
    let mut all = preferred("spec.affinity.podAffinity", near, own, 1)?;
    all.extend(preferred("spec.affinity.podAntiAffinity", far, own, -1)?);
    Ok(all)
}

fn required(
    field: &str,
    terms: &[ApiPodAffinityTerm],
    own: &Labels,
) -> Result<Vec<PodAffinityTerm>, Wrong> {
    let terms = terms.iter().enumerate();
    terms.map(|(i, term)| affinity_term(&format!("{field}.required[{i}]"), term, own)).collect()
}

fn preferred(
    field: &str,
    terms: &[ApiWeightedTerm],
    own: &Labels,
    sign: i64,
) -> Result<Vec<WeightedPodAffinityTerm>, Wrong> {
    let weighted = terms.iter().enumerate().map(|(i, weighted)| {
        let field = format!("{field}.preferred[{i}]");
        Ok(WeightedPodAffinityTerm {
            // Anti-affinity is negative affinity, as InterPodAffinity adds both to one score.
            weight: sign * i64::from(weighted.weight),
            term: affinity_term(&field, &weighted.pod_affinity_term, own)?,
        })
    });
    weighted.collect()
}

fn affinity_term(
    field: &str,
    term: &ApiPodAffinityTerm,
    own: &Labels,
) -> Result<PodAffinityTerm, Wrong> {
    if term.topology_key.is_empty() {
        return Err(format!("{field}.topologyKey: missing, expected a label name"));
    }
    let select = |name, selector: &Option<_>| {
        selector.as_ref().map(|s| label_selector(&format!("{field}.{name}"), s)).transpose()
    };
    let mut pods = select("labelSelector", &term.label_selector)?;
    // Without a labelSelector the term matches no pod, and the keys must not change that.
    if let Some(selector) = &mut pods {
        // The API server has already merged these. An object from a file may not have passed
        // through one, and merging twice is harmless.
        let value = |key: &String| own.get(key).map(|value| (key.clone(), vec![value.clone()]));
        for (key, same) in term.match_label_keys.iter().filter_map(value) {
            selector.require(Requirement { key, test: Test::In(same) });
        }
        for (key, same) in term.mismatch_label_keys.iter().filter_map(value) {
            selector.require(Requirement { key, test: Test::NotIn(same) });
        }
    }
    Ok(PodAffinityTerm {
        pods,
        namespaces: term.namespaces.clone(),
        namespace_selector: select("namespaceSelector", &term.namespace_selector)?,
        topology_key: term.topology_key.clone(),
    })
}
