//! Two clusters on which a rebalancer can evict forever.

use jiff::{SignedDuration, Timestamp};

use crate::e2e::support::{
    ControlPlane, Launch, Policy, Process, evictions, rounds::late_nodes_are_filled, say, scene,
    that,
};

/// The interval at which descheduler was measured, and the default limits.
const AS_SET: Policy = Policy { interval: "20s", limits: "{}", ..Policy::USUAL };

/// Seven heavy pods prefer the hot node, and the policy tolerates moves without effect.
#[test]
fn a_move_that_does_not_help_is_repeated_ever_more_rarely() {
    scene::with(scene::dead_loop, async |control_plane| {
        let policy = Policy { rest: "80s", tolerance: "100%", ..AS_SET };
        let mut process = Launch::new(control_plane, &policy).await.run(&[]);
        let first = first_eviction(control_plane, &mut process).await;
        // By the program's own clock, because a busy machine delays cycles.
        let end = first + SignedDuration::from_mins(6);
        process
            .eventually("the end of six minutes", 480, async |process| {
                let last = process.last_cycle();
                that(last.is_some_and(|at| at >= end), format!("the last cycle was at {last:?}"))
            })
            .await;
        let times: Vec<Timestamp> =
            evictions(control_plane).iter().map(|e| e.at).filter(|at| *at <= end).collect();
        let rests: Vec<i64> =
            times.windows(2).map(|pair| pair[1].duration_since(pair[0]).as_secs()).collect();
        say(&format!(
            "dead loop: {} evictions in six minutes, {rests:?} s between them",
            times.len()
        ));
        assert!((2..=4).contains(&times.len()), "{times:?}");
        assert!(
            rests.iter().all(|rest| *rest >= 80),
            "a rest shorter than the policy's: {rests:?}"
        );
        assert!(
            rests.is_sorted_by(|a, b| a < b),
            "a rest that is not longer than the one before: {rests:?}"
        );
    });
}

#[test]
fn late_nodes_are_filled_with_few_evictions_and_none_of_a_light_pod() {
    scene::with(scene::late_nodes, async |control_plane| {
        late_nodes_are_filled(control_plane, &Launch::new(control_plane, &AS_SET).await).await;
    });
}

async fn first_eviction(control_plane: &ControlPlane, process: &mut Process) -> Timestamp {
    process
        .eventually("the first eviction", 180, async |_| {
            evictions(control_plane).first().map(|e| e.at).ok_or_else(|| "none yet".to_owned())
        })
        .await
}
