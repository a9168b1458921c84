//! Files that are handed over instead of a policy, and the policy in them.

use super::descheduler;
use crate::schema::problem::{Code, Position, Problem};
use crate::schema::scalar::text;
use crate::schema::tree::{MapEntry, Value, YamlNode};

/// The kinds of policies and of configurations that contain one.
const POLICY_KINDS: [&str; 3] = ["kind: Policy", "DeschedulerPolicy", "DeschedulerConfiguration"];

/// Returns what a file is if it is no policy, and what to hand over instead.
pub(super) fn recognise(root: &YamlNode) -> Option<Problem> {
    let Value::Map(entries) = &root.value else {
        return None;
    };
    let kind = text_of(root, "kind").unwrap_or_default();
    let (field, sentence) = match kind {
        "DeschedulerPolicy" if has_no_version(root) => return Some(no_version(root)),
        "ConfigMap" | "Secret" => ("kind", of_object(root, kind)),
        "DeschedulerConfiguration" => ("kind", KOORDINATOR.to_owned()),
        "HelmRelease" | "Application" | "HelmChart" => ("kind", of_release(kind)),
        "KubeSchedulerConfiguration" => ("kind", SCHEDULER.to_owned()),
        "KubeDescheduler" => ("kind", OPENSHIFT.to_owned()),
        _ => {
            return objects_of_cluster(root)
                .or_else(|| values(entries))
                .or_else(|| other_version(root));
        }
    };
    Some(problem(at(entries, field)?, field, sentence))
}

const KOORDINATOR: &str = "this is the configuration of Koordinator's descheduler, whose plugins evenkeel does not have; write a policy with `lowNodeUtilization` and `basis: actual` instead of its LowNodeLoad (`evenkeel policy convert` shows the format)";

const SCHEDULER: &str =
    "this is the configuration of kube-scheduler; hand it over by `--scheduler-config`";

const OPENSHIFT: &str = "this is the resource of OpenShift's Kube Descheduler Operator; hand over the policy that the operator makes of it: the key `policy.yaml` of the ConfigMap in its namespace";

/// Returns that a file has objects of a cluster, and how they are handed over.
pub(crate) fn objects_of_cluster(root: &YamlNode) -> Option<Problem> {
    let Value::Map(entries) = &root.value else {
        return None;
    };
    let kind = text_of(root, "kind")?;
    if !["List", "Node", "NodeList", "Pod", "PodList"].contains(&kind) {
        return None;
    }
    let sentence =
        format!("this is a {kind}; the objects of a cluster are handed over by `--from`");
    Some(problem(at(entries, "kind")?, "kind", sentence))
}

/// A ConfigMap, as most descriptions of a problem contain it.
fn of_object(root: &YamlNode, kind: &str) -> String {
    let metadata = root.get("metadata");
    let meta = |name| metadata.and_then(|node| text_of(node, name));
    let (name, namespace) = (meta("name").unwrap_or("NAME"), meta("namespace"));
    let namespace = namespace.map_or(String::new(), |name| format!(" -n {name}"));
    let Some(key) = policy_key(root) else {
        return format!("this is a {kind}, and no key of its `data` has a policy as text");
    };
    let path = key.replace('.', "\\.");
    format!(
        "this is a {kind} with a policy in its key `{key}`; hand over that text: kubectl get {}{namespace} {name} -o jsonpath='{{.data.{path}}}' > policy.yaml",
        kind.to_lowercase()
    )
}

/// The key of a ConfigMap whose text is a policy.
fn policy_key(root: &YamlNode) -> Option<&str> {
    let Value::Map(entries) = &root.get("data")?.value else {
        return None;
    };
    let has_policy = |entry: &&MapEntry| {
        text(&entry.value).is_ok_and(|text| POLICY_KINDS.iter().any(|kind| text.contains(kind)))
    };
    Some(&entries.iter().find(has_policy)?.key)
}

fn of_release(kind: &str) -> String {
    format!(
        "this is a {kind}, not a policy; hand over the policy in its chart values, under `deschedulerPolicy` or `policy`, as a file of its own"
    )
}

fn has_no_version(root: &YamlNode) -> bool {
    root.get("apiVersion").is_none_or(|v| v.value == Value::Null)
}

/// A policy for descheduler that does not say in which version it is written.
fn no_version(root: &YamlNode) -> Problem {
    let version = if root.get("strategies").is_some() {
        descheduler::V1ALPHA1
    } else {
        descheduler::V1ALPHA2
    };
    let (at, sentence) = (root.at, format!("missing, expected {version}"));
    Problem::new(Code::MissingField, at, "apiVersion", None, sentence)
}

/// Values of a Helm chart.
fn values(entries: &[MapEntry]) -> Option<Problem> {
    let names = ["deschedulerPolicy", "policy"];
    let entry = entries.iter().find(|e| names.contains(&e.key.as_str()))?;
    let Value::Map(_) = &entry.value.value else {
        return None;
    };
    let key = &entry.key;
    let version = match key.as_str() {
        "deschedulerPolicy" => {
            "; add the lines `apiVersion: descheduler/v1alpha2` and `kind: DeschedulerPolicy`"
        }
        _ => "",
    };
    let sentence = format!(
        "these are values of a Helm chart, whose policy stands under `{key}`; hand over that part as a file of its own{version}"
    );
    Some(problem(entry.at, key, sentence))
}

/// A policy for descheduler with the fields of its other version.
fn other_version(root: &YamlNode) -> Option<Problem> {
    let Value::Map(entries) = &root.value else {
        return None;
    };
    let (field, own, version) = match text_of(root, "apiVersion")? {
        descheduler::V1ALPHA2 => ("strategies", "profiles", descheduler::V1ALPHA1),
        descheduler::V1ALPHA1 => ("profiles", "strategies", descheduler::V1ALPHA2),
        _ => return None,
    };
    if at(entries, own).is_some() {
        return None;
    }
    let sentence = format!(
        "this field is of {version}; write that as apiVersion, or `{own}` instead of `{field}`"
    );
    Some(problem(at(entries, field)?, field, sentence))
}

fn problem(at: Position, path: &str, sentence: String) -> Problem {
    Problem::new(Code::UnsupportedVersion, at, path, None, sentence)
}

/// The position of a field.
fn at(entries: &[MapEntry], name: &str) -> Option<Position> {
    entries.iter().find(|e| e.key == name).map(|e| e.at)
}

fn text_of<'t>(node: &'t YamlNode, name: &str) -> Option<&'t str> {
    text(node.get(name)?).ok()
}

#[cfg(test)]
mod tests {
    use crate::policy::Policy;

    /// The message about a file, without its name.
    fn refused(text: &str) -> String {
        let error = Policy::parse("p.yaml", text).unwrap_err().to_string();
        let line = error.lines().next().unwrap_or_default();
        line.strip_prefix("p.yaml:").unwrap_or_default().to_owned()
    }

    #[test]
    fn a_config_map_names_the_key_that_has_the_policy() {
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: p, namespace: kube-system}\n\
            data:\n  note: hello\n  policy.yaml: |\n    kind: DeschedulerPolicy\n";
        assert_eq!(
            refused(text),
            "2:1: kind: this is a ConfigMap with a policy in its key `policy.yaml`; hand over that text: kubectl get configmap -n kube-system p -o jsonpath='{.data.policy\\.yaml}' > policy.yaml"
        );
        assert_eq!(
            refused("apiVersion: v1\nkind: ConfigMap\ndata: {note: hello}"),
            "2:1: kind: this is a ConfigMap, and no key of its `data` has a policy as text"
        );
    }

    #[test]
    fn helm_values_name_the_field_that_has_the_policy() {
        assert_eq!(
            refused("replicas: 1\ndeschedulerPolicy: {profiles: []}"),
            "2:1: deschedulerPolicy: these are values of a Helm chart, whose policy stands under `deschedulerPolicy`; hand over that part as a file of its own; add the lines `apiVersion: descheduler/v1alpha2` and `kind: DeschedulerPolicy`"
        );
        assert_eq!(
            refused("kind: Deployment\npolicy: {apiVersion: evenkeel/v1alpha1}"),
            "2:1: policy: these are values of a Helm chart, whose policy stands under `policy`; \
             hand over that part as a file of its own"
        );
        let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease";
        assert!(refused(release).contains("this is a HelmRelease, not a policy"));
    }

    #[test]
    fn the_configuration_of_koordinator_is_named() {
        let text = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerConfiguration\nprofiles: []";
        assert!(refused(text).contains("the configuration of Koordinator's descheduler"));
    }

    #[test]
    fn other_files_of_a_cluster_are_named() {
        let of = |kind: &str| refused(&format!("apiVersion: v1\nkind: {kind}\nspec: {{}}"));
        let scheduler = of("KubeSchedulerConfiguration");
        assert!(scheduler.ends_with("hand it over by `--scheduler-config`"), "{scheduler}");
        assert!(of("KubeDescheduler").contains("the key `policy.yaml` of the ConfigMap"));
        assert!(of("List").ends_with("the objects of a cluster are handed over by `--from`"));
    }

    #[test]
    fn a_descheduler_policy_without_a_version_misses_only_that() {
        for (text, version) in [
            ("kind: DeschedulerPolicy\nprofiles: [{pluginConfig: []}]", "v1alpha2"),
            ("kind: DeschedulerPolicy\napiVersion:", "v1alpha2"),
            ("kind: DeschedulerPolicy\nstrategies: {}", "v1alpha1"),
        ] {
            let error = Policy::parse("p.yaml", text).unwrap_err().to_string();
            let missing =
                format!("p.yaml:1:1: apiVersion: missing, expected descheduler/{version}\n");
            assert!(error.starts_with(&missing), "{error}");
            assert_eq!(error.matches("p.yaml:").count(), 1, "{error}");
        }
    }

    #[test]
    fn fields_of_the_other_version_name_it() {
        assert_eq!(
            refused("apiVersion: descheduler/v1alpha2\nstrategies: {}"),
            "2:1: strategies: this field is of descheduler/v1alpha1; write that as apiVersion, or `profiles` instead of `strategies`"
        );
        assert_eq!(
            refused("apiVersion: descheduler/v1alpha1\nprofiles: []"),
            "2:1: profiles: this field is of descheduler/v1alpha2; write that as apiVersion, or `strategies` instead of `profiles`"
        );
    }
}
