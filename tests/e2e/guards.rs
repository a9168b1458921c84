//! Guards with a real Prometheus: a service whose errors rise keeps its pods, an alert stops
//! everything, and a lost series counts as the policy says.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::time::Instant;

use crate::e2e::support::{
    ControlPlane, Launch, Policy, Process, Prometheus, evicted, evictions, say, scene, that,
};

/// One eviction in each cycle, so that something is left to stop.
const SLOWLY: Policy =
    Policy { interval: "5s", limits: "{perCycle: 1, perWorkload: 100%}", ..Policy::USUAL };

/// The alert of the second test.
const RULES: &str = "\
groups:
- name: services
  rules:
  - {alert: ServiceDown, expr: service_down == 1, labels: {severity: critical}}
";

/// A service that Prometheus scrapes, with metrics that a test sets.
#[derive(Clone, Default)]
struct Exporter(Arc<Mutex<String>>);

impl Exporter {
    async fn start(&self) -> SocketAddr {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let metrics = Arc::clone(&self.0);
        let answer = move || {
            let text = metrics.lock().unwrap().clone();
            async move { text }
        };
        let router = axum::Router::new().fallback(answer);
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        address
    }

    fn set(&self, lines: &[&str]) {
        *self.0.lock().unwrap() = lines.join("\n") + "\n";
    }
}

const WEB_WELL: &str = "errors_ratio{namespace=\"default\",deployment=\"web\"} 0.01";
const WEB_ILL: &str = "errors_ratio{namespace=\"default\",deployment=\"web\"} 0.4";
const API_WELL: &str = "errors_ratio{namespace=\"default\",deployment=\"api\"} 0.01";

/// Six pods of `web` and two of `api` on n1, of which five have to leave.
async fn two_services(control_plane: &ControlPlane) {
    scene::on_n1(control_plane, &[("web", 6, "1000m"), ("api", 2, "1000m")]).await;
}

/// Usage from metrics.k8s.io, and these guards.
fn policy(prometheus: &Prometheus, guards: &str) -> String {
    let url = prometheus.url();
    let server = format!("prometheus: {{url: '{url}', timeout: 2s}}, ");
    format!("{}guards:\n{guards}", SLOWLY.by(&server))
}

/// The evictions of this Deployment.
fn of(control_plane: &ControlPlane, name: &str) -> usize {
    let made = evictions(control_plane);
    let prefix = format!("{name}-");
    made.iter().filter(|e| e.name.starts_with(&prefix)).count()
}

async fn more_evictions(control_plane: &ControlPlane, process: &mut Process, name: &str) {
    let before = of(control_plane, name);
    process
        .eventually(&format!("an eviction of {name}"), 240, async |_| {
            let now = of(control_plane, name);
            that(now > before, format!("{now}"))
        })
        .await;
}

#[test]
fn a_service_whose_errors_rise_keeps_its_pods_within_one_poll_and_the_others_go() {
    scene::with(two_services, async |control_plane| {
        let exporter = Exporter::default();
        exporter.set(&[WEB_WELL, API_WELL]);
        let address = exporter.start().await;
        let prometheus = Prometheus::of_exporter(control_plane, address, None).await;
        let guards = "- {name: errors, query: errors_ratio, above: 0.05, scope: workload, \
                         recover: 10s}\n";
        let launch = Launch::written(control_plane, &policy(&prometheus, guards)).await;
        let mut process = launch.run(&[]);
        process.shows("evenkeel_guard_value{guard=\"errors\"} 0.01", 60).await;
        evicted(control_plane, &mut process, 1, 240).await;

        exporter.set(&[WEB_ILL, API_WELL]);
        let start = Instant::now();
        // A scrape after at most one second, and a poll after at most five.
        process.shows("evenkeel_guard_stops{guard=\"errors\"} 1", 20).await;
        let seconds = start.elapsed().as_secs_f64();
        say(&format!("guards: stopped {seconds:.1} s after the errors rose"));
        assert!(seconds < 10.0, "{seconds}");
        let before = of(control_plane, "web");
        process
            .eventually("both pods of api to move", 240, async |_| {
                that(of(control_plane, "api") >= 2, "fewer")
            })
            .await;
        process.cycles(3, 60).await;
        assert_eq!(of(control_plane, "web"), before, "evicted while it suffers");
        let metrics = process.metrics().await;
        assert!(metrics.contains("code=\"guarded\""), "{metrics}");
        let plan = launch.plan();
        let stop = plan["guards"][0]["message"].as_str().unwrap_or_default().to_owned();
        let expected = "guard errors stops evictions of default/Deployment/web: its value 0.4 is \
                        above 0.05";
        assert_eq!(stop, expected);

        exporter.set(&[WEB_WELL, API_WELL]);
        more_evictions(control_plane, &mut process, "web").await;
    });
}

#[test]
fn an_alert_stops_everything_and_a_lost_series_counts_as_configured() {
    scene::with(two_services, async |control_plane| {
        let exporter = Exporter::default();
        exporter.set(&[WEB_WELL, API_WELL, "service_down 1"]);
        let rules = control_plane.write("services.yaml", RULES);
        let address = exporter.start().await;
        let prometheus = Prometheus::of_exporter(control_plane, address, Some(&rules)).await;
        let guards = "\
- {name: alerts, query: 'ALERTS{alertstate=\"firing\",severity=\"critical\"}', recover: 5s}
- {name: web, query: 'errors_ratio{deployment=\"web\"}', above: 0.05, scope: workload}
- {name: api, query: 'errors_ratio{deployment=\"api\"}', above: 0.05, scope: workload,
   missing: allow}
";
        let launch = Launch::written(control_plane, &policy(&prometheus, guards)).await.shown();
        let mut process = launch.run(&[]);
        process.shows("evenkeel_guard_stops{guard=\"alerts\"} 1", 60).await;
        process.cycles(6, 120).await;
        assert_eq!(evictions(control_plane).len(), 0, "evicted while the alert fires");
        let halted = launch.plan()["halted"].to_string();
        assert!(halted.contains("guard alerts stops all evictions"), "{halted}");
        let status = launch.status_text();
        assert!(status.contains("guard alerts stops all evictions"), "{status}");

        exporter.set(&["service_down 0"]);
        process.shows("evenkeel_guard_stops{guard=\"web\"} 1", 20).await;
        more_evictions(control_plane, &mut process, "api").await;
        process.cycles(3, 60).await;
        assert_eq!(of(control_plane, "web"), 0, "its series is lost");
        assert_eq!(
            process.count(&["guard web stops evictions", "\"code\":\"missing\""]),
            1,
            "said once"
        );

        exporter.set(&["service_down 0", WEB_WELL]);
        more_evictions(control_plane, &mut process, "web").await;
    });
}
