//! Conversion of the limits of a pod.

use crate::model::api::{ApiPodSpec, Quantities};
use crate::values::{Amount, value_of};

use super::Wrong;
use super::requests::{AmountList, PodAmounts, amounts, is_sidecar, of_names};

/// Returns the limits of containers and sidecars together, plus the pod's overhead. Pod-level
/// limits take precedence. A resource without a limit on one container has no limit. Init
/// containers do not count, because they end before the others run.
pub(super) fn of_pod(spec: &ApiPodSpec) -> Result<PodAmounts, Wrong> {
    let sidecars = spec.init_containers.iter().filter(|c| is_sidecar(c));
    let each = spec
        .containers
        .iter()
        .chain(sidecars)
        .map(|c| of("spec.containers[]", &c.resources.limits));
    let each: Vec<AmountList> = each.collect::<Result<_, _>>()?;
    let whole = spec.resources.as_ref().map_or(Ok(Vec::new()), |r| of("spec", &r.limits))?;
    let overhead = amounts("spec.overhead", &spec.overhead)?;
    let mut total = whole.clone();
    let (first, others) =
        each.split_first().map_or((&[][..], &[][..]), |(first, others)| (first.as_slice(), others));
    // The first container has to limit a resource for the pod to have a limit, so its list is
    // enough.
    for (name, limit) in first.iter().filter(|(name, _)| value_of(&whole, name).is_none()) {
        let others: Option<Vec<_>> = others.iter().map(|limits| value_of(limits, name)).collect();
        total.extend(
            others.map(|others| (name.clone(), others.into_iter().fold(*limit, Amount::plus))),
        );
    }
    for (name, limit) in &mut total {
        *limit = limit.plus(value_of(&overhead, name).unwrap_or_default());
    }
    Ok(of_names(total.into_iter()))
}

fn of(field: &str, limits: &Quantities) -> Result<AmountList, Wrong> {
    amounts(&format!("{field}.resources.limits"), limits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::quantity;

    fn limits(text: &str) -> String {
        let listed = of_pod(&serde_saphyr::from_str(text).unwrap()).unwrap();
        let shown: Vec<_> = listed
            .iter()
            .map(|(name, limit)| format!("{name}={}", quantity::text(name, *limit)))
            .collect();
        shown.join(" ")
    }

    #[test]
    fn limits_are_summed_if_every_container_has_one() {
        let web = "{name: web, resources: {limits: {cpu: 500m, memory: 1Gi}}}";
        let proxy = "{name: proxy, resources: {limits: {cpu: 250m}}}";
        assert_eq!(limits(&format!("{{containers: [{web}, {proxy}]}}")), "cpu=750m");
        assert_eq!(
            limits(&format!("{{containers: [{web}], overhead: {{cpu: 10m, memory: 1Mi}}}}")),
            "cpu=510m memory=1025Mi"
        );
        assert_eq!(limits(&format!("{{containers: [{web}, {{name: none}}]}}")), "");
        assert_eq!(limits("{containers: []}"), "");
    }

    #[test]
    fn a_sidecar_counts_and_an_init_container_does_not() {
        let web = "{name: web, resources: {limits: {cpu: 500m}}}";
        let init = "{name: i, resources: {limits: {cpu: 4}}}";
        let sidecar = "{name: s, restartPolicy: Always, resources: {limits: {cpu: 1}}}";
        assert_eq!(
            limits(&format!("{{containers: [{web}], initContainers: [{init}, {sidecar}]}}")),
            "cpu=1500m"
        );
    }

    #[test]
    fn a_pod_level_limit_takes_precedence() {
        let web = "{name: web, resources: {limits: {cpu: 500m, memory: 1Gi}}}";
        assert_eq!(
            limits(&format!("{{resources: {{limits: {{cpu: 2}}}}, containers: [{web}]}}")),
            "cpu=2 memory=1Gi"
        );
    }
}
