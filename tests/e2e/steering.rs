//! Steering: does a soft taint make a cluster come to rest that would not without, and does it go again?

use jiff::{SignedDuration, Timestamp};

use crate::kit::audit::{evictions, requests};
use crate::kit::bed::{Bed, on_a_bed};
use crate::kit::keel::{Keel, Launch, Policy};
use crate::kit::scene;
use crate::kit::usage::{in_words, used};
use crate::kit::wait::{say, that};

const HOT: &str = "evenkeel.io/steer=hot:PreferNoSchedule";

/// Steers, and evicts with the limits that one gets unasked.
const STEERS: Policy = Policy {
    interval: "20s",
    limits: "{}",
    steering: "{taintHot: true}",
    ..Policy::USUAL
};
/// Steers, and evicts nothing.
const STEERS_ALONE: Policy = Policy {
    interval: "5s",
    limits: "{perCycle: 0}",
    ..STEERS
};

/// Seven heavy pods prefer the hot node: without steering every one of them would come back.
#[test]
fn the_dead_loop_is_balanced_and_stays_so() {
    on_a_bed(async |bed| {
        scene::rights_to_steer(bed);
        scene::dead_loop(bed).await;
        let before = used(bed).await.percentages();
        let mut keel = Launch::new(bed, &STEERS).await.run(&[]);
        tainted(bed, &mut keel, true).await;
        keel.eventually("every node at its target", 480, async |_| {
            let used = used(bed).await;
            that(used.highest() <= 50.0, in_words(&used.percentages()))
        })
        .await;
        tainted(bed, &mut keel, false).await;
        let times: Vec<Timestamp> = evictions(bed).iter().map(|e| e.at).collect();
        let (made, took) = (
            times.len(),
            times[times.len() - 1].duration_since(times[0]).as_secs(),
        );
        // By the program's own clock.
        let end = keel.last_cycle().unwrap() + SignedDuration::from_mins(10);
        keel.eventually("the end of ten minutes", 720, async |keel| {
            let last = keel.last_cycle();
            that(
                last.is_some_and(|at| at >= end),
                format!("the last cycle was at {last:?}"),
            )
        })
        .await;
        let after = used(bed).await;
        say(&format!(
            "dead loop, steered, before: {}",
            in_words(&before)
        ));
        say(&format!(
            "dead loop, steered, after:  {}",
            in_words(&after.percentages())
        ));
        say(&format!(
            "dead loop, steered: {made} evictions within {took} s, and none in the ten minutes after"
        ));
        assert!(
            after.highest() <= 50.0,
            "a node is hot again: {}",
            in_words(&after.percentages())
        );
        assert_eq!(evictions(bed).len(), made, "it goes on evicting");
        assert!(made <= 6, "four would do: {made}");
        assert!(keel.stop(5).await.success());
    });
}

#[test]
fn it_touches_no_other_taint_and_leaves_none_behind() {
    on_a_bed(async |bed| {
        const OTHER: &str = "dedicated=web:PreferNoSchedule";
        scene::rights_to_steer(bed);
        scene::lopsided(bed).await;
        bed.kubectl(&["taint", "node", "n1", OTHER]);
        let mut keel = Launch::new(bed, &STEERS_ALONE).await.run(&[]);
        tainted(bed, &mut keel, true).await;
        assert_eq!(scene::taints(bed, "n1").await, [OTHER, HOT]);
        keel.cycles(3, 60).await;
        assert!(keel.stop(10).await.success());
        assert_eq!(
            scene::taints(bed, "n1").await,
            [OTHER],
            "it has ended and left its taint behind"
        );
        let patches = requests(bed)
            .into_iter()
            .filter(|r| r.verb == "patch")
            .map(|r| (r.resource, r.name));
        let n1 = || ("nodes".to_owned(), "n1".to_owned());
        assert_eq!(
            patches.collect::<Vec<_>>(),
            [n1(), n1()],
            "once on, once off"
        );

        // After a crash the next start knows the taint, whatever its policy.
        let mut keel = Launch::new(bed, &STEERS_ALONE).await.run(&[]);
        tainted(bed, &mut keel, true).await;
        keel.kill_9();
        let mut keel = Launch::new(
            bed,
            &Policy {
                steering: "{}",
                ..STEERS_ALONE
            },
        )
        .await
        .run(&[]);
        tainted(bed, &mut keel, false).await;
        assert_eq!(scene::taints(bed, "n1").await, [OTHER]);
        assert_eq!((keel.warnings(), evictions(bed).len()), (0, 0));
    });
}

#[test]
fn without_the_right_it_says_so_once_and_goes_on() {
    on_a_bed(async |bed| {
        scene::rights(bed);
        scene::lopsided(bed).await;
        let mut keel = Launch::new(bed, &STEERS_ALONE).await.run(&[]);
        keel.says(&["deploy/components/steering"], 1, 180).await;
        keel.cycles(3, 60).await;
        assert_eq!(
            (keel.count(&["deploy/components/steering"]), keel.warnings()),
            (1, 1)
        );
        scene::rights_to_steer(bed);
        tainted(bed, &mut keel, true).await;
        assert!(keel.stop(10).await.success());
        assert!(scene::taints(bed, "n1").await.is_empty());
    });
}

/// Waits until n1 is steered around, or is no more.
async fn tainted(bed: &Bed, keel: &mut Keel, whether: bool) {
    let what = if whether {
        "the taint"
    } else {
        "the taint to go"
    };
    keel.eventually(what, 180, async |_| {
        let taints = scene::taints(bed, "n1").await;
        that(
            taints.iter().any(|t| t == HOT) == whether,
            format!("{taints:?}"),
        )
    })
    .await;
}
