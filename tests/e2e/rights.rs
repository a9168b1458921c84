//! The program's roles grant exactly the rights that it uses.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::e2e::support::{
    Launch, Policy, Request, audit::Right, evicted, name, requests, say, scene, with_control_plane,
};

#[test]
fn every_right_of_the_role_is_used_and_none_is_missing() {
    scene::with(scene::lopsided, async |control_plane| {
        let granted =
            granted(control_plane.list("/apis/rbac.authorization.k8s.io/v1/clusterroles").await)
                .into_iter()
                .chain(granted(
                    control_plane.list("/apis/rbac.authorization.k8s.io/v1/roles").await,
                ))
                .collect::<BTreeSet<Right>>();
        let policy = Policy {
            limits: "{perCycle: 1, perWorkload: 100%}",
            steering: "{taintHot: true}",
            ..Policy::USUAL
        };
        let launch = Launch::new(control_plane, &policy).await;
        launch.plan();
        let mut process = launch.run(&["--leader-elect"]);
        evicted(control_plane, &mut process, 2, 240).await;
        process.cycles(1, 60).await;
        assert!(process.stop(5).await.success());

        let used: BTreeSet<Right> = requests(control_plane).iter().map(Request::right).collect();
        let idle: Vec<&Right> = granted.difference(&used).collect();
        say(&format!("rights: {} granted, {} of them not used", granted.len(), idle.len()));
        assert!(idle.is_empty(), "granted, and not used: {idle:#?}");
        assert_eq!(process.count(&["forbidden"]), 0);
    });
}

#[test]
fn the_manifests_are_valid() {
    with_control_plane(async |control_plane| {
        for folder in ["base", "overlays/job", "overlays/cronjob"] {
            control_plane.apply_with(&scene::manifests(folder), &["--dry-run=server"]);
        }
    });
}

/// The rights that the program's roles grant.
fn granted(roles: Vec<Value>) -> Vec<Right> {
    let own = roles.into_iter().filter(|role| name(role).starts_with("evenkeel"));
    own.flat_map(|role| {
        role["rules"].as_array().unwrap().iter().flat_map(product).collect::<Vec<_>>()
    })
    .collect()
}

fn product(rule: &Value) -> Vec<Right> {
    let words = |key: &str| {
        rule[key].as_array().unwrap().iter().map(|w| w.as_str().unwrap().to_owned()).collect()
    };
    let (groups, resources, verbs): (Vec<String>, Vec<String>, Vec<String>) =
        (words("apiGroups"), words("resources"), words("verbs"));
    let mut rights = Vec::new();
    for (group, resource) in groups.iter().flat_map(|g| resources.iter().map(move |r| (g, r))) {
        rights.extend(verbs.iter().map(|verb| (group.clone(), resource.clone(), verb.clone())));
    }
    rights
}
