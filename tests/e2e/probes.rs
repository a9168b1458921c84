//! Does it tell the kubelet how it is, and end when it is told to?

use http::Method;

use crate::kit::bed::on_a_bed;
use crate::kit::keel::{Launch, Policy};
use crate::kit::proxy::{Proxy, Stage};
use crate::kit::scene;
use crate::kit::wait::that;

#[test]
fn it_is_ready_once_it_has_seen_the_cluster_and_ends_when_told_to() {
    on_a_bed(async |bed| {
        scene::rights(bed);
        scene::nodes(bed, 2).await;
        let proxy = Proxy::start(bed).await;
        let lists = proxy.hold(Stage::Unsent, &[Method::GET], "/api/v1/pods");
        let mut keel = Launch::by(bed, &Policy::USUAL, &proxy.url()).await.run(&[]);
        lists.caught(30).await;
        keel.eventually("the answer of a live process", 30, async |keel| {
            that(keel.probe("/healthz").await == Ok(200), "not alive")
        })
        .await;
        let early = keel.probe("/readyz").await;
        assert!(
            early.as_ref().is_ok_and(|code| *code >= 500),
            "ready without the pods: {early:?}"
        );

        lists.release();
        keel.eventually("readiness", 60, async |keel| {
            let code = keel.probe("/readyz").await;
            that(code == Ok(200), format!("{code:?}"))
        })
        .await;
        let status = keel.stop(5).await;
        assert!(status.success(), "{status}");
    });
}
