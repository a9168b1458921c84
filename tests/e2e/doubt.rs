//! All nodes are left alone while the clock is wrong.

use std::time::Duration;

use crate::e2e::support::{Launch, Policy, clock, even, evictions, scene};

/// Ages and rests would be wrong by that hour. A clock that is set back delays no cycle.
#[test]
fn nothing_is_evicted_while_the_local_clock_is_wrong() {
    scene::with(scene::lopsided, async |control_plane| {
        let launch = Launch::new(control_plane, &Policy::USUAL).await;
        let launch = launch.with_clock(clock::set(control_plane, 0, 3600));
        let mut process = launch.run(&[]);
        let wrong = "the local clock is 1h ahead of that of the API server; no evictions";
        process.says(&[wrong], 3, 120).await;
        assert_eq!(evictions(control_plane).len(), 0);
        clock::set(control_plane, 0, 0);
        even(control_plane, &mut process, 240).await;
        assert_eq!(evictions(control_plane).len(), 3);

        clock::jump(control_plane, 0, Duration::from_secs(30)).await;
        process.cycles(2, 60).await;
        assert_eq!(evictions(control_plane).len(), 3);
    });
}
