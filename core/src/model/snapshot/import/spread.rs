//! Conversion of topology spread constraints.

use crate::model::api::{ApiPodSpec, ApiSpreadConstraint};
use crate::model::snapshot::facts::Spread;
use crate::values::selector::{Labels, Requirement, Test};

use super::{Wrong, label_selector};

/// Converts the constraints of a pod with these labels.
pub(super) fn of_pod(spec: &ApiPodSpec, own: &Labels) -> Result<Vec<Spread>, Wrong> {
    spec.topology_spread_constraints
        .iter()
        .enumerate()
        .map(|(i, constraint)| read(i, constraint, own))
        .collect()
}

fn read(i: usize, constraint: &ApiSpreadConstraint, own: &Labels) -> Result<Spread, Wrong> {
    let field = format!("spec.topologySpreadConstraints[{i}]");
    if constraint.topology_key.is_empty() {
        return Err(format!("{field}.topologyKey: missing, expected a label name"));
    }
    let selector = constraint.label_selector.as_ref();
    let mut pods =
        selector.map(|s| label_selector(&format!("{field}.labelSelector"), s)).transpose()?;
    if let Some(selector) = &mut pods {
        // Newer API servers have already merged these. Merging twice is harmless.
        for key in &constraint.match_label_keys {
            if let Some(value) = own.get(key) {
                selector
                    .require(Requirement { key: key.clone(), test: Test::In(vec![value.clone()]) });
            }
        }
    }
    Ok(Spread {
        max_skew: positive(&format!("{field}.maxSkew"), constraint.max_skew)?,
        topology_key: constraint.topology_key.clone(),
        hard: match constraint.when_unsatisfiable.as_str() {
            "DoNotSchedule" => true,
            "ScheduleAnyway" => false,
            other => {
                let expected = "expected DoNotSchedule or ScheduleAnyway";
                return Err(format!("{field}.whenUnsatisfiable: found {other:?}, {expected}"));
            }
        },
        pods,
        min_domains: constraint
            .min_domains
            .map(|n| positive(&format!("{field}.minDomains"), n))
            .transpose()?,
        honours_affinity: honours(
            &format!("{field}.nodeAffinityPolicy"),
            &constraint.node_affinity_policy,
        )?
        .unwrap_or(true),
        honours_taints: honours(
            &format!("{field}.nodeTaintsPolicy"),
            &constraint.node_taints_policy,
        )?
        .unwrap_or(false),
    })
}

fn positive(field: &str, found: i32) -> Result<u32, Wrong> {
    let positive = u32::try_from(found).ok().filter(|n| *n > 0);
    positive.ok_or_else(|| format!("{field}: found {found}, expected 1 or more"))
}

/// Returns `None` if the constraint uses the default.
fn honours(field: &str, found: &str) -> Result<Option<bool>, Wrong> {
    match found {
        "" => Ok(None),
        "Honor" => Ok(Some(true)),
        "Ignore" => Ok(Some(false)),
        other => Err(format!("{field}: found {other:?}, expected Honor or Ignore")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(constraint: &str) -> Result<Spread, Wrong> {
        let text = format!("{{containers: [], topologySpreadConstraints: [{constraint}]}}");
        let spec: ApiPodSpec = serde_saphyr::from_str(&text).unwrap();
        let own = Labels::from([
            ("app".to_owned(), "web".to_owned()),
            ("rev".to_owned(), "7".to_owned()),
        ]);
        of_pod(&spec, &own).map(|mut all| all.remove(0))
    }

    #[test]
    fn missing_fields_get_the_scheduler_defaults() {
        let found =
            spread("{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}").unwrap();
        let expected = Spread {
            max_skew: 1,
            topology_key: "zone".to_owned(),
            hard: true,
            pods: None,
            min_domains: None,
            honours_affinity: true,
            honours_taints: false,
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn every_field_is_converted() {
        let found = spread(
            "{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, minDomains: 3,
             nodeAffinityPolicy: Ignore,
              nodeTaintsPolicy: Honor, labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [rev, absent]}",
        )
        .unwrap();
        assert_eq!(found.pods.unwrap().to_string(), "app=web,rev=7");
        assert_eq!((found.max_skew, found.hard, found.min_domains), (2, false, Some(3)));
        assert_eq!((found.honours_affinity, found.honours_taints), (false, true));
    }

    #[test]
    fn an_invalid_constraint_is_reported_with_its_field() {
        let base = "maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule";
        for (constraint, why) in [
            (base.replace("zone", "''"), "topologyKey: missing, expected "),
            (base.replace("Skew: 1", "Skew: 0"), "maxSkew: found 0, expected "),
            (
                base.replace("DoNot", "Never"),
                "whenUnsatisfiable: found \"NeverSchedule\", expected ",
            ),
            (format!("{base}, minDomains: -1"), "minDomains: found -1, expected "),
            (
                format!("{base}, nodeTaintsPolicy: Maybe"),
                "nodeTaintsPolicy: found \"Maybe\", expected ",
            ),
            (
                format!(
                    "{base}, labelSelector: {{matchExpressions: [{{key: a, operator: Like}}]}}"
                ),
                "labelSelector: ",
            ),
        ] {
            let said = spread(&format!("{{{constraint}}}")).unwrap_err();
            assert!(
                said.starts_with(&format!("spec.topologySpreadConstraints[0].{why}")),
                "{said}"
            );
        }
    }
}
