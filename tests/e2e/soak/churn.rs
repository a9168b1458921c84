//! Deployments and nodes that come and go, each with a name of its own.

use std::cell::Cell;
use std::fmt;
use std::process::Command;
use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use crate::e2e::support::{ControlPlane, control_plane::TESTBED, run, scene};

/// The time between two changes.
const PAUSE: Duration = Duration::from_secs(3);
/// Deployments and nodes that live at once, besides those of the scene.
const ALIVE: usize = 4;

/// The changes so far.
pub(super) struct Churn<'c> {
    control_plane: &'c ControlPlane,
    deployments: Cell<usize>,
    nodes: Cell<usize>,
}

impl<'c> Churn<'c> {
    pub(super) fn of(control_plane: &'c ControlPlane) -> Self {
        Churn { control_plane, deployments: Cell::default(), nodes: Cell::default() }
    }

    /// Changes the cluster forever: two Deployments, then a node, and so on.
    pub(super) async fn go_on(&self) {
        loop {
            for _ in 0..2 {
                self.deployment();
                sleep(PAUSE).await;
            }
            self.node();
            sleep(PAUSE).await;
        }
    }

    fn deployment(&self) {
        let number = self.deployments.replace(self.deployments.get() + 1);
        let name = |number: usize| format!("batch-{number}");
        let manifest = scene::manifest(&name(number), 3, "200m", &json!({}));
        self.control_plane.apply(&manifest.to_string());
        if let Some(oldest) = number.checked_sub(ALIVE) {
            self.delete("deployment", &name(oldest));
        }
    }

    fn node(&self) {
        let number = self.nodes.replace(self.nodes.get() + 1);
        let prefix = |number: usize| format!("spot-{number}-");
        let mut nodes = Command::new(format!("{TESTBED}/nodes.sh"));
        let node = run(nodes.args(["1", "8", "32Gi", &prefix(number)]));
        self.control_plane.apply(&node);
        if let Some(oldest) = number.checked_sub(ALIVE) {
            self.delete("node", &format!("{}1", prefix(oldest)));
        }
    }

    fn delete(&self, kind: &str, name: &str) {
        let args = ["delete", kind, name, "--wait=false", "--ignore-not-found"];
        self.control_plane.kubectl(&args);
    }
}

impl fmt::Display for Churn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (deployments, nodes) = (self.deployments.get(), self.nodes.get());
        write!(
            f,
            "{deployments} Deployments and {nodes} nodes came, and all but {ALIVE} of each went"
        )
    }
}
