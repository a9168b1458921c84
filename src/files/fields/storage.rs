//! The fields of claims, volumes, storage classes, CSI nodes and attachments.

use crate::files::rename::NameKind;

use super::Keep::{self, Expressions, Name, Plain, Presence};
use super::{KeptFields, META, NODE_SELECTOR};

pub(super) const CLAIM: KeptFields = &[
    ("metadata", META),
    (
        "spec",
        Keep::Fields(&[
            ("storageClassName", Name(NameKind::Storage)),
            ("volumeName", Name(NameKind::Volume)),
            ("accessModes", Plain),
        ]),
    ),
    ("status", Keep::Fields(&[("phase", Plain)])),
];
const DISK: KeptFields = &[
    ("pdName", Name(NameKind::Volume)),
    ("volumeID", Name(NameKind::Volume)),
    ("volumePath", Name(NameKind::Volume)),
    ("diskName", Name(NameKind::Volume)),
];
pub(super) const PERSISTENT_VOLUME: KeptFields = &[
    ("metadata", META),
    (
        "spec",
        Keep::Fields(&[
            ("storageClassName", Name(NameKind::Storage)),
            ("nodeAffinity", Keep::Fields(&[("required", NODE_SELECTOR)])),
            (
                "csi",
                Keep::Fields(&[
                    ("driver", Name(NameKind::Driver)),
                    ("volumeHandle", Name(NameKind::Volume)),
                ]),
            ),
            ("hostPath", Presence),
            ("local", Presence),
            ("gcePersistentDisk", Keep::Fields(DISK)),
            ("awsElasticBlockStore", Keep::Fields(DISK)),
            ("cinder", Keep::Fields(DISK)),
            ("vsphereVolume", Keep::Fields(DISK)),
            ("azureDisk", Keep::Fields(DISK)),
        ]),
    ),
    ("status", Keep::Fields(&[("phase", Plain)])),
];
pub(super) const ATTACHMENT: KeptFields = &[
    ("metadata", META),
    (
        "spec",
        Keep::Fields(&[
            ("attacher", Name(NameKind::Driver)),
            ("nodeName", Name(NameKind::Node)),
            (
                "source",
                Keep::Fields(&[("persistentVolumeName", Name(NameKind::Volume))]),
            ),
        ]),
    ),
];
pub(super) const STORAGE_CLASS: KeptFields = &[
    ("metadata", META),
    ("provisioner", Name(NameKind::Driver)),
    ("volumeBindingMode", Plain),
    (
        "allowedTopologies",
        Keep::Fields(&[("matchLabelExpressions", Expressions)]),
    ),
];
pub(super) const CSI_NODE: KeptFields = &[
    ("metadata", META),
    (
        "spec",
        Keep::Fields(&[(
            "drivers",
            Keep::Fields(&[
                ("name", Name(NameKind::Driver)),
                ("nodeID", Name(NameKind::Part)),
                ("allocatable", Keep::Fields(&[("count", Plain)])),
            ]),
        )]),
    ),
];
