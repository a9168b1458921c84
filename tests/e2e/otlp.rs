//! Traces of real evictions: one span for each eviction in the API server's audit log, below its
//! cycle.

use crate::e2e::support::{Launch, Policy, even, eviction_calls, evictions, say, scene};

use crate::shared::otlp_collector::{Collector, Response};

#[test]
fn each_eviction_of_late_nodes_is_a_span_below_its_cycle() {
    scene::with_rights(async |control_plane| {
        let collector = Collector::start(Response::Status(503)).await;
        let policy = Policy { interval: "20s", limits: "{}", ..Policy::USUAL };
        let mut process =
            Launch::new(control_plane, &policy).await.run(&["--otlp-endpoint", &collector.url()]);
        // The collector fails and then hangs before there is anything to evict.
        process.says(&["HTTP status 503"], 1, 90).await;
        collector.respond(Response::Hang);
        process.says(&["no response within 10 s"], 1, 90).await;
        collector.respond(Response::Success);
        process.says(&["takes traces again"], 1, 90).await;

        scene::late_nodes(control_plane).await;
        even(control_plane, &mut process, 420).await;
        process.cycles(1, 60).await;
        assert!(process.stop(30).await.success());

        let (asked, made) = (eviction_calls(control_plane), evictions(control_plane));
        let (all, cycles) = (collector.trees(""), collector.trees("cycle"));
        let spans: Vec<&str> =
            all.lines().filter(|line| line.trim_start().starts_with("evict ")).collect();
        let good = spans.iter().filter(|line| line.contains(" evenkeel.outcome=evicted")).count();
        say(&format!(
            "traces: {} evictions in the audit log, {good} spans of evictions, {} spans in all",
            made.len(),
            all.lines().count()
        ));
        assert!(!made.is_empty());
        assert_eq!((spans.len(), good), (asked.len(), made.len()), "{all}");
        for eviction in &made {
            let name = format!(" k8s.pod.name={} ", eviction.name);
            assert_eq!(
                spans.iter().filter(|line| line.contains(&name)).count(),
                1,
                "{name}: {all}"
            );
        }
        assert_eq!(below_act_below_cycle(&cycles), spans.len(), "{cycles}");
        assert_eq!(collector.orphans(), 0, "{all}");
        assert_eq!(collector.resource()["service.name"], "evenkeel");
        assert!(collector.requests().iter().all(|(path, _)| path == "/v1/traces"));
        // Each successful request has its own span below.
        assert_eq!(all.matches("/eviction? http.status_code=201").count(), made.len(), "{all}");
    });
}

/// Number of eviction spans that are below `act`, below `cycle`.
fn below_act_below_cycle(cycles: &str) -> usize {
    let (mut phase, mut found) = ("", 0);
    for line in cycles.lines() {
        match line.len() - line.trim_start().len() {
            0 => phase = "",
            2 => phase = line.trim_start(),
            4 if line.trim_start().starts_with("evict ") => {
                found += usize::from(phase.starts_with("act "));
            }
            _ => {}
        }
    }
    found
}
