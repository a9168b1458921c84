//! `evenkeel doctor`: whether a cluster lets evenkeel do its work, and what to change.

use std::io::Write;

use kube::Client;

use crate::cluster::Cluster;
use crate::cluster::access::{self, OwnObjects};
use crate::cluster::clock::{ClockDifference, LocalTime};
use crate::cluster::release;
use crate::cluster::usage_source::SourceError;
use crate::decide::doctor::{Diagnosis, Severity};
use crate::policy::{KubernetesRelease, Policy};
use crate::values::text::{agree, count};
use crate::view::diagnoses::DiagnosesText;

use super::election::LEASE;
use super::plan::{self, InputArgs, OutputFormat};
use super::{Shared, examples, runtime, screen, write_json};

/// Older API servers do not have the admission policy that limits the right to taint nodes.
const STEERING: KubernetesRelease = KubernetesRelease::new(30);
const ROLE: &str = "bind the roles of deploy/base/rbac.yaml to this account, or install the chart";

const STATE: &str = "apply deploy/base/state.yaml again, or run `helm upgrade`: the roles allow evenkeel \
                     to update these objects, but not to create them";

const LISTS: &str = "repair the API server; where a right is missing, bind the roles of \
                     deploy/base/rbac.yaml to this account";

const RECORD_USAGE: &str = "record the usage with the objects (`evenkeel snapshot` does, \
                            `plan --help` shows how); a node without usage gives no pods by \
                            usage, and a landing there is a bad one";

/// Checks rights, usage, budgets, pods and other programs, and says what to change. Changes
/// nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = examples::DOCTOR)]
pub(super) struct DoctorArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Check the rights of this ServiceAccount, as NAMESPACE/NAME [default: your own]
    #[arg(long, value_name = "ACCOUNT", conflicts_with = "from", value_parser = service_account)]
    service_account: Option<(String, String)>,
    /// Name of the Lease of the instance whose rights are checked
    #[arg(long, value_name = "NAME", default_value = LEASE, conflicts_with = "from")]
    leader_elect_resource_name: String,
    /// Namespace of that Lease [default: the namespace of the ledger]
    #[arg(long, value_name = "NAME", conflicts_with = "from")]
    leader_elect_resource_namespace: Option<String>,
    #[command(flatten)]
    pub(super) shared: Shared,
}

fn service_account(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('/');
    let parts = parts.filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty());
    parts
        .map(|(namespace, name)| (namespace.to_owned(), name.to_owned()))
        .ok_or_else(|| "expected an account such as kube-system/evenkeel".to_owned())
}

/// Runs the checks and prints a line for each.
pub(super) fn run(args: &DoctorArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    // A wrong policy is wrong usage, as for every other command.
    let (loaded, warnings) = plan::load_policy(&args.input, &args.shared)?;
    let policy = loaded.policy.clone();
    let mut diagnoses = match &args.input.from {
        Some(_) => Vec::new(),
        None => runtime()?.block_on(server(args, &policy))?,
    };
    let unreachable = diagnoses.iter().any(|d| d.check == "api-server" && is_failure(d));
    let mut head = Vec::new();
    if !unreachable {
        match plan::prepare_with(loaded, warnings, &args.input, &args.shared, "checks of") {
            Ok(prepared) => {
                let observed = prepared.engine.join_usage(&prepared.snapshot, prepared.now);
                let weighs = policy.weighs_usage();
                let failures = prepared.usage_failures.iter();
                diagnoses.extend(failures.map(|failure| usage_source(failure, weighs)));
                let from_file = args.input.from.is_some();
                let examined = prepared.engine.examine(&observed).into_iter();
                diagnoses.extend(examined.map(|d| if from_file { of_file(d) } else { d }));
                head = prepared.head;
            }
            Err(error) if error.is::<super::Misuse>() || args.input.from.is_some() => {
                return Err(error);
            }
            Err(error) => diagnoses.push(Diagnosis::failure(
                "objects",
                format!("cannot list the cluster: {error:#}"),
                LISTS,
            )),
        }
    }
    match args.input.output {
        OutputFormat::Json => write_json(out, &diagnoses)?,
        OutputFormat::Text => {
            let text = DiagnosesText { diagnoses: &diagnoses, head: &head, screen: screen() };
            write!(out, "{text}")?;
        }
    }
    out.flush()?;
    let failures = diagnoses.iter().filter(|d| is_failure(d)).count();
    if failures == 0 {
        return Ok(());
    }
    anyhow::bail!("doctor: {}", count(failures, "failure"))
}

fn is_failure(diagnosis: &Diagnosis) -> bool {
    diagnosis.severity == Severity::Failure
}

/// The remedy for missing usage of a recorded cluster lies in the recording.
fn of_file(diagnosis: Diagnosis) -> Diagnosis {
    let remedy = match diagnosis.check {
        "usage" => diagnosis.remedy.map(|_| RECORD_USAGE.to_owned()),
        _ => diagnosis.remedy,
    };
    Diagnosis { remedy, ..diagnosis }
}

/// Where the policy compares requests only, a source is missing to right-sizing and to ceilings.
fn usage_source(failure: &SourceError, weighs_usage: bool) -> Diagnosis {
    let remedy = match failure {
        SourceError::Prometheus { .. } => "run a query of the policy by hand",
        SourceError::Absent { .. }
        | SourceError::Down { .. }
        | SourceError::Forbidden { .. }
        | SourceError::Slow { .. }
        | SourceError::Failed { .. } => "`kubectl top nodes` shows whether metrics-server answers",
    };
    let severity = if weighs_usage { Severity::Failure } else { Severity::Warning };
    Diagnosis { severity, ..Diagnosis::failure("usage-source", failure.to_string(), remedy) }
}

/// Asks the API server for its version and for the rights of the account.
async fn server(args: &DoctorArgs, policy: &Policy) -> anyhow::Result<Vec<Diagnosis>> {
    let cluster = Cluster::connect(args.shared.kubeconfig.as_deref()).await?;
    let client = cluster.client();
    let version = match release::read(client).await {
        Ok(release) => server_version(release, policy.steering.is_on()),
        Err(error) => {
            let message = format!("the API server does not answer: {error}");
            let remedy = "check the kubeconfig and the network";
            return Ok(vec![Diagnosis::failure("api-server", message, remedy)]);
        }
    };
    let clock = clock(cluster.clock_difference(LocalTime::now()));
    let mut lines = vec![version, clock];
    lines.extend(rights(args, client, policy).await);
    Ok(lines)
}

fn clock(difference: Option<ClockDifference>) -> Diagnosis {
    match difference {
        None => Diagnosis::ok("clock", "the local clock agrees with that of the API server"),
        Some(difference) => Diagnosis::warning(
            "clock",
            difference.to_string(),
            "synchronise both: evenkeel evicts nothing where its clock is wrong",
        ),
    }
}

fn server_version(release: KubernetesRelease, steers: bool) -> Diagnosis {
    let (oldest, newest) = (KubernetesRelease::OLDEST, KubernetesRelease::NEWEST);
    if steers && release < STEERING {
        return Diagnosis::warning(
            "api-server",
            format!("Kubernetes {release} cannot limit the right to taint nodes"),
            format!("use the component without-steering, or upgrade to {STEERING}"),
        );
    }
    let known = format!("the schedulers of {oldest} to {newest} are known to the forecast");
    if release.is_known() {
        return Diagnosis::ok("api-server", format!("Kubernetes {release}; {known}"));
    }
    Diagnosis::warning(
        "api-server",
        format!("Kubernetes {release}, but only {known}"),
        "compare the landings with the forecast: metric evenkeel_landings_total",
    )
}

async fn rights(args: &DoctorArgs, client: &Client, policy: &Policy) -> [Diagnosis; 2] {
    let (shared, approves) = (&args.shared, policy.approval.required);
    let lease_namespace = args.leader_elect_resource_namespace.as_deref();
    let own = OwnObjects {
        namespace: &shared.namespace,
        lease: &args.leader_elect_resource_name,
        lease_namespace: lease_namespace.unwrap_or(&shared.namespace),
        ledger: &shared.ledger,
        proposal: approves.then_some(&shared.proposal),
    };
    let needed = access::needed(own, policy.steering.is_on());
    let account = args.service_account.as_ref();
    let account = account.map(|(namespace, name)| (namespace.as_str(), name.as_str()));
    let whose = account.map_or("this account".to_owned(), |(namespace, name)| {
        format!("ServiceAccount {namespace}/{name}")
    });
    let unknown = |check, error| {
        let message = format!("cannot find out the rights of {whose}: {error}");
        let remedy = "allow the creation of access reviews, or run doctor in the pod";
        Diagnosis::warning(check, message, remedy)
    };
    let rights = match access::missing(client, &needed, account).await {
        Err(error) => unknown("rights", error),
        Ok(missing) if missing.is_empty() => {
            let all = count(needed.len(), "right");
            Diagnosis::ok("rights", format!("{whose} has all {all} that evenkeel uses"))
        }
        Ok(missing) => {
            let names: Vec<String> = missing.iter().map(ToString::to_string).collect();
            let message = format!("{whose} may not {}", names.join(", "));
            Diagnosis::failure("rights", message, ROLE)
        }
    };
    let state = match access::absent(client, &needed, account).await {
        Err(error) => unknown("state", error),
        Ok(absent) if absent.is_empty() => {
            Diagnosis::ok("state", "the ledger and the Lease exist or may be created")
        }
        Ok(absent) => {
            let are = agree(absent.len(), "does", "do");
            let message = format!("{} {are} not exist", absent.join(", "));
            Diagnosis::failure("state", message, STATE)
        }
    };
    [rights, state]
}
