//! Conversion of node affinity and pod affinity.

use k8s_openapi::api::core::v1 as core;

use crate::model::snapshot::facts::{Likes, Neighbours};
use crate::values::selector::{Labels, NodeTerm, Requirement, Selector, Test};

use super::{Wrong, label_selector};

/// Converts required node affinity.
pub(super) fn required_nodes(spec: &core::PodSpec) -> Result<Option<Vec<NodeTerm>>, Wrong> {
    let affinity = spec
        .affinity
        .as_ref()
        .and_then(|a| a.node_affinity.as_ref());
    let required = affinity.and_then(|a| {
        a.required_during_scheduling_ignored_during_execution
            .as_ref()
    });
    let Some(required) = required else {
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
pub(super) fn preferred_nodes(spec: &core::PodSpec) -> Result<Vec<(i32, NodeTerm)>, Wrong> {
    let affinity = spec
        .affinity
        .as_ref()
        .and_then(|a| a.node_affinity.as_ref());
    let preferred = affinity.and_then(|a| {
        a.preferred_during_scheduling_ignored_during_execution
            .as_deref()
    });
    let field = "spec.affinity.nodeAffinity.preferred";
    let terms = preferred.unwrap_or_default().iter().enumerate();
    terms
        .map(|(i, term)| {
            Ok((
                term.weight,
                node_term(&format!("{field}[{i}]"), &term.preference)?,
            ))
        })
        .collect()
}

/// Converts a node selector term.
pub(super) fn node_term(field: &str, term: &core::NodeSelectorTerm) -> Result<NodeTerm, Wrong> {
    Ok(NodeTerm {
        labels: node_selector(
            &format!("{field}.matchExpressions"),
            term.match_expressions.as_deref(),
        )?,
        fields: node_selector(
            &format!("{field}.matchFields"),
            term.match_fields.as_deref(),
        )?,
    })
}

fn node_selector(
    field: &str,
    found: Option<&[core::NodeSelectorRequirement]>,
) -> Result<Selector, Wrong> {
    let parts = found.unwrap_or_default().iter();
    let parts = parts.map(|r| {
        (
            r.key.clone(),
            r.operator.clone(),
            r.values.clone().unwrap_or_default(),
        )
    });
    Selector::from_parts(&Labels::new(), parts).map_err(|error| format!("{field}: {error}"))
}

/// Converts required anti-affinity of a pod with these labels.
pub(super) fn avoids(spec: &core::PodSpec, own: &Labels) -> Result<Vec<Neighbours>, Wrong> {
    let affinity = spec
        .affinity
        .as_ref()
        .and_then(|a| a.pod_anti_affinity.as_ref());
    let terms = affinity.and_then(|a| {
        a.required_during_scheduling_ignored_during_execution
            .as_deref()
    });
    required("spec.affinity.podAntiAffinity", terms, own)
}

/// Converts required affinity of a pod with these labels.
pub(super) fn seeks(spec: &core::PodSpec, own: &Labels) -> Result<Vec<Neighbours>, Wrong> {
    let affinity = spec.affinity.as_ref().and_then(|a| a.pod_affinity.as_ref());
    let terms = affinity.and_then(|a| {
        a.required_during_scheduling_ignored_during_execution
            .as_deref()
    });
    required("spec.affinity.podAffinity", terms, own)
}

/// Converts preferred affinity and anti-affinity of a pod with these labels.
pub(super) fn likes(spec: &core::PodSpec, own: &Labels) -> Result<Vec<Likes>, Wrong> {
    let affinity = spec.affinity.as_ref();
    let near = affinity.and_then(|a| a.pod_affinity.as_ref());
    let near = near.and_then(|a| {
        a.preferred_during_scheduling_ignored_during_execution
            .as_deref()
    });
    let far = affinity.and_then(|a| a.pod_anti_affinity.as_ref());
    let far = far.and_then(|a| {
        a.preferred_during_scheduling_ignored_during_execution
            .as_deref()
    });
    let mut all = preferred("spec.affinity.podAffinity", near, own, 1)?;
    all.extend(preferred("spec.affinity.podAntiAffinity", far, own, -1)?);
    Ok(all)
}

fn required(
    field: &str,
    terms: Option<&[core::PodAffinityTerm]>,
    own: &Labels,
) -> Result<Vec<Neighbours>, Wrong> {
    let terms = terms.unwrap_or_default().iter().enumerate();
    terms
        .map(|(i, term)| neighbours(&format!("{field}.required[{i}]"), term, own))
        .collect()
}

fn preferred(
    field: &str,
    terms: Option<&[core::WeightedPodAffinityTerm]>,
    own: &Labels,
    sign: i64,
) -> Result<Vec<Likes>, Wrong> {
    let terms = terms.unwrap_or_default().iter().enumerate();
    let read = |(i, term): (usize, &core::WeightedPodAffinityTerm)| {
        let whom = neighbours(
            &format!("{field}.preferred[{i}]"),
            &term.pod_affinity_term,
            own,
        )?;
        Ok(Likes {
            // Anti-affinity is negative affinity, as InterPodAffinity adds both to one score.
            weight: sign * i64::from(term.weight),
            whom,
        })
    };
    terms.map(read).collect()
}

fn neighbours(
    field: &str,
    term: &core::PodAffinityTerm,
    own: &Labels,
) -> Result<Neighbours, Wrong> {
    if term.topology_key.is_empty() {
        return Err(format!(
            "{field}.topologyKey: missing, expected a label name"
        ));
    }
    let select = |name, selector: &Option<_>| {
        selector
            .as_ref()
            .map(|s| label_selector(&format!("{field}.{name}"), s))
            .transpose()
    };
    let mut pods = select("labelSelector", &term.label_selector)?;
    // Without a labelSelector the term matches no pod, and the keys must not change that.
    if let Some(selector) = &mut pods {
        // The API server has already merged these. An object from a file may not have passed
        // through one, and merging twice is harmless.
        let value = |key: &String| own.get(key).map(|value| (key.clone(), vec![value.clone()]));
        for (key, same) in term.match_label_keys.iter().flatten().filter_map(value) {
            selector.require(Requirement {
                key,
                test: Test::In(same),
            });
        }
        for (key, same) in term.mismatch_label_keys.iter().flatten().filter_map(value) {
            selector.require(Requirement {
                key,
                test: Test::NotIn(same),
            });
        }
    }
    Ok(Neighbours {
        pods,
        namespaces: term.namespaces.clone().unwrap_or_default(),
        namespace_selector: select("namespaceSelector", &term.namespace_selector)?,
        topology_key: term.topology_key.clone(),
    })
}
