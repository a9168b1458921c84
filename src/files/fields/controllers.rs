//! The fields of controllers that create pods.

use super::Keep::{Name, Plain};
use super::{Keep, KeptFields, META};
use crate::files::rename::NameKind;

const TEMPLATE: Keep =
    Keep::Fields(&[("spec", Keep::Fields(&[("nodeName", Name(NameKind::Node))]))]);
/// Also of a ReplicationController and a StatefulSet.
pub(super) const REPLICA_SET: KeptFields = &[
    ("metadata", META),
    (
        "spec",
        Keep::Fields(&[
            ("replicas", Plain),
            ("podManagementPolicy", Plain),
            ("ordinals", Keep::Fields(&[("start", Plain)])),
            ("template", TEMPLATE),
        ]),
    ),
    (
        "status",
        Keep::Fields(&[(
            "conditions",
            Keep::Fields(&[
                ("type", Name(NameKind::Condition)),
                ("status", Plain),
                ("reason", Plain),
            ]),
        )]),
    ),
];
const FAILURE_RULE: Keep = Keep::Fields(&[
    ("action", Plain),
    (
        "onExitCodes",
        Keep::Fields(&[("operator", Plain), ("values", Plain)]),
    ),
    (
        "onPodConditions",
        Keep::Fields(&[("type", Name(NameKind::Condition)), ("status", Plain)]),
    ),
]);
pub(super) const JOB: KeptFields = &[
    ("metadata", META),
    (
        "spec",
        Keep::Fields(&[
            ("parallelism", Plain),
            ("completions", Plain),
            ("activeDeadlineSeconds", Plain),
            ("template", TEMPLATE),
            ("backoffLimit", Plain),
            ("backoffLimitPerIndex", Plain),
            ("suspend", Plain),
            ("podFailurePolicy", Keep::Fields(&[("rules", FAILURE_RULE)])),
            ("podReplacementPolicy", Plain),
            ("managedBy", Name(NameKind::Part)),
        ]),
    ),
    (
        "status",
        Keep::Fields(&[
            (
                "conditions",
                Keep::Fields(&[("type", Name(NameKind::Condition)), ("status", Plain)]),
            ),
            ("startTime", Plain),
            ("succeeded", Plain),
            ("failed", Plain),
            (
                "uncountedTerminatedPods",
                Keep::Fields(&[("failed", Name(NameKind::Uid))]),
            ),
        ]),
    ),
];
