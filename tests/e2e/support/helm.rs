//! helm and the chart of this repository.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::LazyLock;

use serde_json::Value;

use super::control_plane::{self, TESTBED};

/// The release of the tests. The objects of a release with the chart's name have no prefix.
pub const RELEASE: &str = "evenkeel";

/// The binary, built once per machine.
static HELM: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = control_plane::run(&mut Command::new(format!("{TESTBED}/helm.sh")));
    PathBuf::from(path.trim())
});

/// The folder of the chart.
pub fn chart() -> String {
    format!("{}/deploy/helm/evenkeel", env!("CARGO_MANIFEST_DIR"))
}

/// helm with these arguments.
pub fn helm(args: &[&str]) -> Command {
    let mut command = Command::new(&*HELM);
    command.args(args);
    command
}

/// The objects that the chart renders with these values, without those of `helm test`.
pub fn rendered(values: &Value) -> Vec<Value> {
    let is_hook = |object: &Value| object["metadata"]["annotations"]["helm.sh/hook"].is_string();
    rendered_with_hooks(values).into_iter().filter(|object| !is_hook(object)).collect()
}

/// The objects that the chart renders with these values, with those of `helm test`.
pub fn rendered_with_hooks(values: &Value) -> Vec<Value> {
    let output = template(values);
    let text = String::from_utf8(output.stdout).unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{values}: {error}");
    objects(&text)
}

/// The error of values that the chart refuses.
pub fn refused(values: &Value) -> String {
    let output = template(values);
    assert!(!output.status.success(), "{values} was rendered");
    String::from_utf8(output.stderr).unwrap()
}

fn template(values: &Value) -> Output {
    let file = values_file(values);
    let output = helm(&["template", RELEASE, &chart(), "--namespace", "kube-system", "--values"])
        .arg(&file)
        .output()
        .unwrap();
    std::fs::remove_file(file).unwrap();
    output
}

/// A file with these values. JSON is YAML.
pub fn values_file(values: &Value) -> PathBuf {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let name =
        format!("values-{}-{}.yaml", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, values.to_string()).unwrap();
    path
}

/// The objects in a stream of YAML documents.
pub fn objects(text: &str) -> Vec<Value> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
    documents.into_iter().filter(|object| !object.is_null()).collect()
}
