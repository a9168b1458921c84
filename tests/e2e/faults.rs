//! Random faults between evenkeel and the API server lose no eviction, repeat none, and stop
//! nothing for long.
//!
//! Two instances move the pods of a Deployment forever, because the policy ends each pod that is
//! older than a second. A schedule of faults is made from a seed; `EVENKEEL_FAULT_SEEDS=7` or
//! `=1-100` replays one or more, and `tests/faults.sh` runs many. `EVENKEEL_FAULT_KILLS=12` adds as
//! many kills beside the faults of each seed. The invariants are checked from
//! the audit log of the API server, from the ledger, which is read twice a second, and from the
//! record, to which both instances append.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use evenkeel::cluster::known_pods::digest;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use crate::e2e::record::recorded;
use crate::e2e::support::{
    ControlPlane, Launch, Process, Proxy, Request, clock, eventually, evictions, requests, say,
    scene, that,
};

use record::Record;
use schedule::{Fault, kills, schedule};

mod record;
mod schedule;

/// Seconds for which a replacement rests.
const REST: i64 = 20;
/// Evictions per minute.
const PER_MINUTE: usize = 30;
/// Requests per minute of both instances together. Without faults there are about 250.
const MOST_REQUESTS: usize = 1500;
/// Open file descriptors of an instance. There are about 40.
const MOST_DESCRIPTORS: usize = 120;
/// Resident memory of an instance, in MiB.
const MOST_MEMORY: u64 = 250;

const POLICY: &str = "\
apiVersion: evenkeel/v1alpha1
kind: Policy
interval: 1s
evictable: {minPodAge: 0s}
limits: {perCycle: 3, perNode: none, perNamespace: none, perWorkload: 25%, perMinute: 30}
cooldown: {rest: 20s, cap: 1m}
strategies:
- podLifeTime: {maxPodLifeTimeSeconds: 1}
";

/// Seconds of calm within which the pods of each instance must be those of the API server.
const CALM: u64 = 60;

/// Durations of the election, so short that a leader change takes seconds.
const FLAGS: [&str; 5] = [
    // With a digest of the known pods in each cycle.
    "--log-level=info,evenkeel::cluster::known_pods=debug",
    "--leader-elect",
    "--leader-elect-lease-duration=6s",
    "--leader-elect-renew-deadline=4s",
    "--leader-elect-retry-period=1s",
];

#[test]
fn no_schedule_of_faults_loses_or_repeats_an_eviction() {
    scene::with_rights(async |control_plane| {
        scene::nodes(control_plane, 4).await;
        scene::deployment(control_plane, "web", 24, "10m").await;
        let stage = Stage::set(control_plane).await;
        let record = Record::new(control_plane).await;
        let instances = [stage.start(0), stage.start(1)].map(Mutex::new);
        for seed in seeds() {
            let began = Instant::now();
            tokio::select! {
                () = record.keep() => {}
                () = stage.play(seed, &instances, &record) => {}
            }
            let evicted = evictions(control_plane);
            // The last ones may be younger than the last look.
            record.look().await;
            let [one, two] = &instances;
            let running = [&*one.lock().await, &*two.lock().await];
            check(control_plane, &record, &evicted, running, began);
            let [memory, other] = running.map(Process::resident_mebibytes);
            let [descriptors, more] = running.map(Process::descriptors);
            say(&format!(
                "seed {seed}: {} evictions and {} kills in all, {} s, {memory} and {other} MiB, \
                 {descriptors} and {more} descriptors",
                evicted.len(),
                record.kills(),
                began.elapsed().as_secs()
            ));
        }
    });
}

/// The processes, each held by what kills or stops it.
type Instances = [Mutex<Process>; 2];

/// A number from the environment; zero if it is not set.
fn number(variable: &str) -> usize {
    let text = std::env::var_os(variable).unwrap_or_else(|| "0".into());
    text.into_string().unwrap().parse().unwrap()
}

/// The seeds to play: a number, or a range such as `1-100`.
fn seeds() -> RangeInclusive<u64> {
    let text = std::env::var_os("EVENKEEL_FAULT_SEEDS").unwrap_or_else(|| "1".into());
    let text = text.into_string().unwrap();
    let (first, last) = text.split_once('-').unwrap_or((&text, &text));
    first.parse().unwrap()..=last.parse().unwrap()
}

/// The proxy and the command lines of both instances.
struct Stage<'c> {
    control_plane: &'c ControlPlane,
    proxy: Proxy,
    launches: [Launch; 2],
}

impl<'c> Stage<'c> {
    async fn set(control_plane: &'c ControlPlane) -> Self {
        let proxy = Proxy::start(control_plane).await;
        let url = proxy.url();
        let launches = [
            Launch::through(control_plane, POLICY, &url).await.with_clock(clock::set(
                control_plane,
                0,
                0,
            )),
            Launch::through(control_plane, POLICY, &url)
                .await
                .with_clock(clock::set(control_plane, 1, 0))
                .at(control_plane.port(2)),
        ];
        Stage { control_plane, proxy, launches }
    }

    fn start(&self, which: usize) -> Process {
        let file = self.file();
        self.launches[which].run(&[&FLAGS[..], &["--record", file.to_str().unwrap()]].concat())
    }

    /// The file of the record.
    fn file(&self) -> PathBuf {
        self.control_plane.dir.join("record.jsonl")
    }

    /// Plays the faults of a seed, then waits until evictions go on.
    async fn play(&self, seed: u64, instances: &Instances, record: &Record<'_>) {
        let faults = async {
            for (pause, fault) in schedule(seed) {
                say(&format!("seed {seed}: after {pause:?}, {fault:?}"));
                sleep(pause).await;
                self.restart_ended(instances).await;
                self.cause(fault, instances, record).await;
            }
        };
        let kills = async {
            for (pause, which) in kills(seed, number("EVENKEEL_FAULT_KILLS")) {
                sleep(pause).await;
                self.kill(which, instances, record).await;
            }
        };
        tokio::join!(faults, kills);
        self.restart_ended(instances).await;
        let before = evictions(self.control_plane).len();
        eventually("evictions in the calm after the faults", 90, async || {
            let after = evictions(self.control_plane).len();
            that(after >= before + 3, format!("{before} before, {after} now"))
        })
        .await;
        for instance in instances {
            self.knows_all_pods(&*instance.lock().await).await;
        }
        self.has_recorded_all().await;
    }

    /// Waits until each eviction so far has a line in the record, and only one that is not marked.
    async fn has_recorded_all(&self) {
        let made = evictions(self.control_plane);
        eventually("a line of the record for each eviction", CALM, async || {
            let lines = recorded(&self.file());
            let missing = made.iter().filter(|one| !lines.contains_key(&one.name));
            let missing: Vec<&str> = missing.map(|one| one.name.as_str()).collect();
            that(missing.is_empty(), format!("none for {missing:?}"))
        })
        .await;
        let lines = recorded(&self.file());
        let twice: Vec<_> = lines.iter().filter(|(_, unmarked)| **unmarked > 1).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    /// Waits until the pods that an instance knows are those of the API server, by namespace, name
    /// and uid. Pods come and go meanwhile, so this may take a few attempts.
    async fn knows_all_pods(&self, instance: &Process) {
        eventually("the pods of the API server in the cache", CALM, async || {
            let before = instance.lines(KNOWN_PODS).len();
            let pods = self.control_plane.list("/api/v1/pods").await;
            let text =
                |pod: &Value, field: &str| pod["metadata"][field].as_str().unwrap().to_owned();
            let names: Vec<[String; 3]> = pods
                .iter()
                .map(|pod| ["namespace", "name", "uid"].map(|field| text(pod, field)))
                .collect();
            let listed = names
                .iter()
                .map(|[namespace, name, uid]| (namespace.as_str(), name.as_str(), uid.as_str()));
            let listed = digest(listed);
            // The next cycle begins within a second of the list.
            sleep(Duration::from_millis(1200)).await;
            let known = instance.lines(KNOWN_PODS);
            let same = known[before..].iter().any(|line| line["digest"] == *listed);
            that(same, format!("{listed} is listed, {:?} known", &known[before..]))
        })
        .await;
    }

    /// Starts instances again that have ended, as a kubelet does. One ends if the ledger is
    /// unreadable when it starts.
    async fn restart_ended(&self, instances: &Instances) {
        for (which, instance) in instances.iter().enumerate() {
            let mut instance = instance.lock().await;
            if instance.has_ended() {
                *instance = self.start(which);
            }
        }
    }

    async fn kill(&self, which: usize, instances: &Instances, record: &Record<'_>) {
        let mut instance = instances[which].lock().await;
        instance.kill_9();
        record.count_kill();
        *instance = self.start(which);
    }

    async fn cause(&self, fault: Fault, instances: &Instances, record: &Record<'_>) {
        match fault {
            Fault::Status(code, methods, text, time) => {
                let _outage = self.proxy.answer(code, methods, text);
                sleep(time).await;
            }
            Fault::Busy(time) => {
                let _outage = self.proxy.busy("/eviction");
                sleep(time).await;
            }
            Fault::Lost(text, time) => {
                let _outage = self.proxy.lose(text);
                sleep(time).await;
            }
            Fault::Slow(text, delay, time) => {
                let _outage = self.proxy.delay(delay, text);
                sleep(time).await;
            }
            Fault::Cut => self.proxy.cut_watches(),
            Fault::Writer => record.write_foreign().await,
            Fault::Corrupt(text, time) => record.corrupt(text, time).await,
            Fault::Silence(each, time) => {
                let _outage = self.proxy.silence(each, "watch=true");
                self.proxy.cut_watches();
                sleep(time).await;
            }
            Fault::Clock(which, seconds, time) => {
                clock::set(self.control_plane, which, seconds);
                sleep(time).await;
                clock::set(self.control_plane, which, 0);
            }
            Fault::Kill(which) => self.kill(which, instances, record).await,
            Fault::Stop(which) => {
                let mut instance = instances[which].lock().await;
                let status = instance.stop(25).await;
                assert!(status.success(), "{status}");
                *instance = self.start(which);
            }
            Fault::Suspend(which, time) => {
                let instance = instances[which].lock().await;
                instance.signal("STOP");
                sleep(time).await;
                instance.signal("CONT");
            }
        }
    }
}

/// Fails if an invariant does not hold.
fn check(
    control_plane: &ControlPlane,
    record: &Record<'_>,
    evicted: &[Request],
    instances: [&Process; 2],
    began: Instant,
) {
    record.check(evicted, REST);
    // An eviction may begin up to 30 s after it was decided and counted.
    for (position, first) in evicted.iter().enumerate() {
        let within = |r: &&Request| r.at.duration_since(first.at).as_secs() < 60;
        let together = evicted[position..].iter().take_while(within).count();
        assert!(together <= 2 * PER_MINUTE, "{together} evictions within a minute of {}", first.at);
    }
    let minutes = usize::try_from(began.elapsed().as_secs().div_ceil(60)).unwrap();
    let since = crate::e2e::support::wait::present() - began.elapsed();
    let asked = requests(control_plane).iter().filter(|r| r.at >= since).count();
    assert!(asked <= MOST_REQUESTS * minutes, "{asked} requests in {minutes} minutes");
    for instance in instances {
        let memory = instance.resident_mebibytes();
        assert!(memory <= MOST_MEMORY, "{memory} MiB");
        let descriptors = instance.descriptors();
        assert!(descriptors <= MOST_DESCRIPTORS, "{descriptors} descriptors");
    }
}

/// Part of the log line that each cycle writes about the known pods.
const KNOWN_PODS: &str = "\"message\":\"known pods\"";

/// The longest pause between two faults.
const LONGEST_PAUSE: Duration = Duration::from_secs(4);
