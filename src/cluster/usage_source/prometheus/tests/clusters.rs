//! One server for several clusters, whose nodes and pods may share names.

use insta::assert_snapshot;
use serde_json::json;

use super::{
    NOW, PrometheusError, healthy, matrix, node_addresses, prometheus, read_past, router, series,
    serve,
};
use crate::model::usage::Readings;

/// Reads with these series for nodeCpu and podMemory, or those of the healthy server.
async fn read(nodes: &'static str, pods: &'static str) -> Result<Readings, PrometheusError> {
    let (router, _) = router(move |query| match query {
        "nodeCpu" if !nodes.is_empty() => series(nodes),
        "podMemory" if !pods.is_empty() => series(pods),
        _ => healthy(query),
    });
    prometheus(&serve(router).await, "").read(&node_addresses()).await
}

async fn error_from(nodes: &'static str, pods: &'static str) -> String {
    let error = read(nodes, pods).await.unwrap_err();
    format!("[{}] {error}", error.kind())
}

#[tokio::test]
async fn nodes_with_one_name_in_two_clusters_are_an_error() {
    let alike = error_from("cluster=prod node=n1 1; cluster=dev node=n1 7", "");
    assert_snapshot!(alike.await,
        @"[clusters] returns nodes of several clusters that share the names of this cluster's \
            nodes, cluster=\"dev\" and cluster=\"prod\": select this cluster by label \
            cluster in `matchers`");
    // One cluster has n1 and the other n2: both names are ours, but one of the nodes is not.
    let apart = error_from("cluster=prod node=n1 1; cluster=dev node=n2 7", "");
    assert!(apart.await.starts_with("[clusters] "));
    // Two networks may use the same address.
    let address = error_from(
        "cluster=prod instance=10.0.0.1:9100 1; cluster=dev instance=10.0.0.1:9100 7",
        "",
    );
    assert!(address.await.starts_with("[clusters] "));
}

#[tokio::test]
async fn a_cluster_whose_series_lack_the_label_is_another_one() {
    const PODS: &str = "namespace=shop pod=web node=n1 1; \
                        cluster=prod namespace=shop pod=web node=n1 7";
    assert_snapshot!(error_from("cluster=prod node=n1 1; node=n1 7", "").await,
        @"[clusters] returns nodes of several clusters that share the names of this cluster's \
            nodes, cluster=\"\" and cluster=\"prod\": select this cluster by label \
            cluster in `matchers`");
    assert!(error_from("", PODS).await.starts_with("[clusters] "));
    // A query or a job may drop the label.
    assert!(read("cluster=prod node=n1 1", "namespace=shop pod=web node=n1 1").await.is_ok());
}

#[tokio::test]
async fn pods_with_one_name_in_two_clusters_are_an_error() {
    const DEV: &str = "cluster=dev namespace=shop pod=web 7";
    let both = error_from(
        "",
        "cluster=prod namespace=shop pod=web 1; cluster=dev namespace=shop pod=web 7",
    );
    assert!(both.await.starts_with("[clusters] "));
    // Nodes of one cluster and pods of the other.
    let between = error_from("cluster=prod node=n1 1", DEV);
    assert!(between.await.starts_with("[clusters] "));
}

#[tokio::test]
async fn a_cluster_with_other_node_names_is_skipped() {
    let readings = read("cluster=prod node=n1 1; cluster=dev node=m1 7", "").await.unwrap();
    assert_eq!(readings.nodes.keys().collect::<Vec<_>>(), ["n1"]);
    assert_eq!(
        readings.skipped.examples()[0].to_string(),
        r#"nodeCpu {cluster="dev",node="m1"} cannot be read: not a node of this cluster"#
    );
}

#[tokio::test]
async fn series_of_other_clusters_alone_are_not_reported_as_an_empty_result() {
    let others = error_from("cluster=dev node=m1 7; node=m2 7", "");
    assert_snapshot!(others.await,
        @"[foreign] returns no series of this cluster for the query nodeCpu, only others such as \
            {cluster=\"dev\",node=\"m1\"} (not a node of this cluster): does it store this \
            cluster, do `matchers` select it, and do `nodeLabels` name the label of the node?");
}

#[tokio::test]
async fn the_past_may_contain_only_deleted_nodes() {
    let (router, _) = router(|query| {
        if query == "time()" {
            return healthy(query);
        }
        let labels = json!({"node": "gone", "namespace": "shop", "pod": "web"});
        matrix(&json!([{"metric": labels, "values": [[NOW - 60, "1"], [NOW - 30, "1"]]}]))
    });
    let past = read_past(&prometheus(&serve(router).await, ""), None).await;
    assert!(past.iter().all(|(_, readings)| readings.nodes.is_empty()), "{past:?}");
}
