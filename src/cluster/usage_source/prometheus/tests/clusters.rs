//! One store for several clusters, whose nodes and pods may be called alike.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{
    NOW, Said, Trouble, healthy, node_addresses, point, prometheus, router, serve, vector,
};
use crate::model::usage::Readings;

/// What is read where nodeCpu and podMemory are answered with these series: labels and value.
async fn read(
    nodes: &'static [(&str, &str)],
    pods: &'static [(&str, &str)],
) -> Result<Readings, Trouble> {
    let series = |all: &[(&str, &str)]| -> Said {
        let labels = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let series = all
            .iter()
            .map(|(text, value)| json!({"metric": labels(text), "value": point(value)}));
        vector(&series.collect())
    };
    let (router, _) = router(move |query| match query {
        "nodeCpu" if !nodes.is_empty() => series(nodes),
        "podMemory" if !pods.is_empty() => series(pods),
        _ => healthy(query),
    });
    prometheus(&serve(router).await, "")
        .read(&node_addresses())
        .await
}

async fn trouble(nodes: &'static [(&str, &str)], pods: &'static [(&str, &str)]) -> String {
    let trouble = read(nodes, pods).await.unwrap_err();
    format!("[{}] {trouble}", trouble.kind())
}

#[tokio::test]
async fn nodes_that_are_called_alike_in_two_clusters_are_not_mixed() {
    let alike = trouble(
        &[
            (r#"{"cluster": "prod", "node": "n1"}"#, "1"),
            (r#"{"cluster": "dev", "node": "n1"}"#, "7"),
        ],
        &[],
    );
    assert_snapshot!(alike.await, @r#"[clusters] tells of nodes that are called as ours in several clusters, cluster="dev" and cluster="prod": say by `matchers` which is this one, such as 'cluster="dev"'"#);
    // One has n1 and the other n2: both are ours by name, and one of them is not ours.
    let apart = trouble(
        &[
            (r#"{"cluster": "prod", "node": "n1"}"#, "1"),
            (r#"{"cluster": "dev", "node": "n2"}"#, "7"),
        ],
        &[],
    );
    assert!(apart.await.starts_with("[clusters] "));
    // By address, of which two networks may have the same.
    let address = trouble(
        &[
            (r#"{"cluster": "prod", "instance": "10.0.0.1:9100"}"#, "1"),
            (r#"{"cluster": "dev", "instance": "10.0.0.1:9100"}"#, "7"),
        ],
        &[],
    );
    assert!(address.await.starts_with("[clusters] "));
}

#[tokio::test]
async fn pods_that_are_called_alike_are_not_mixed_either() {
    const PODS: [(&str, &str); 2] = [
        (
            r#"{"cluster": "prod", "namespace": "shop", "pod": "web"}"#,
            "1",
        ),
        (
            r#"{"cluster": "dev", "namespace": "shop", "pod": "web"}"#,
            "7",
        ),
    ];
    assert!(trouble(&[], &PODS).await.starts_with("[clusters] "));
    // Nodes of one, and pods of the other.
    let between = trouble(&[(r#"{"cluster": "prod", "node": "n1"}"#, "1")], &[PODS[1]]);
    assert!(between.await.starts_with("[clusters] "));
}

#[tokio::test]
async fn a_cluster_whose_nodes_are_called_otherwise_is_no_trouble() {
    let nodes = &[
        (r#"{"cluster": "prod", "node": "n1"}"#, "1"),
        (r#"{"cluster": "dev", "node": "m1"}"#, "7"),
    ];
    let readings = read(nodes, &[]).await.unwrap();
    assert_eq!(readings.nodes.keys().collect::<Vec<_>>(), ["n1"]);
    assert_eq!(
        readings.skipped[0].to_string(),
        r#"nodeCpu {cluster="dev",node="m1"} cannot be read: no node of this cluster"#
    );
}

#[tokio::test]
async fn where_only_others_are_told_of_it_is_said_and_not_taken_for_silence() {
    let others = trouble(
        &[
            (r#"{"cluster": "dev", "node": "m1"}"#, "7"),
            (r#"{"node": "m2"}"#, "7"),
        ],
        &[],
    );
    assert_snapshot!(others.await, @r#"[foreign] answers the query nodeCpu with nothing about this cluster, but with {cluster="dev",node="m1"} (no node of this cluster): does it hold this cluster, do `matchers` choose it, and do `nodeLabels` name the label of the node?"#);
}

#[tokio::test]
async fn the_past_may_tell_of_nothing_but_nodes_that_are_gone() {
    let (router, _) = router(|query| {
        if query == "time()" {
            return healthy(query);
        }
        let labels = json!({"node": "gone", "namespace": "shop", "pod": "web"});
        super::json_of(
            &json!({"status": "success", "data": {"resultType": "matrix", "result": [
            {"metric": labels, "values": [[NOW - 60, "1"], [NOW - 30, "1"]]}]}}),
        )
    });
    let past = prometheus(&serve(router).await, "")
        .read_past(&node_addresses(), None)
        .await
        .unwrap();
    assert!(
        past.iter().all(|(_, readings)| readings.nodes.is_empty()),
        "{past:?}"
    );
}
