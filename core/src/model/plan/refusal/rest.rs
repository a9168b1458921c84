//! Pods and workloads that rest.

use std::error::Error;
use std::fmt;

use crate::model::ledger::{Rest, RestCause};
use crate::values::text::duration;

impl fmt::Display for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = duration(self.left);
        let sentence = match self.cause {
            RestCause::Replacement => {
                format!("it replaced an evicted pod recently and rests for another {left}")
            }
            RestCause::Ineffective(times) => {
                let moves = last(times, "move of its workload", "moves of its workload");
                format!("the {moves} did not help; the workload rests for another {left}")
            }
            RestCause::GotWorse(decline) => format!(
                "its workload got worse by an eviction and rests for another {left}: {decline}"
            ),
            RestCause::Rejected(times) => {
                let evictions = last(times, "eviction was", "evictions were");
                format!("its {evictions} rejected; it rests for another {left}")
            }
            RestCause::NoRight => {
                format!("no right to evict pods in its namespace; the next attempt is in {left}")
            }
        };
        f.write_str(&sentence)
    }
}

impl Error for Rest {}

impl Rest {
    pub(super) fn code_and_remedy(&self) -> (&'static str, String) {
        let (code, otherwise) = match self.cause {
            RestCause::Replacement => ("resting", ", or lower `cooldown.rest`"),
            RestCause::Ineffective(_) => ("ineffective-move", INEFFECTIVE),
            RestCause::GotWorse(_) => ("got-worse", GOT_WORSE),
            RestCause::Rejected(_) => ("rejected-eviction", REJECTED),
            RestCause::NoRight => ("no-right", NO_RIGHT),
        };
        (code, format!("wait {}{otherwise}", duration(self.left)))
    }
}

const INEFFECTIVE: &str =
    "; better, remove what attracts the pod to its node, such as a preferred affinity";
const GOT_WORSE: &str = "; better, find out what the replacement lacks on its node";
const REJECTED: &str = ", or see the message of the API server in the log; most often a webhook refuses the pod or does not respond";
const NO_RIGHT: &str =
    ", or grant `create` on `pods/eviction` (`evenkeel doctor` names missing rights)";

fn last(times: u32, singular: &str, plural: &str) -> String {
    match times {
        1 => format!("last {singular}"),
        _ => format!("last {times} {plural}"),
    }
}
