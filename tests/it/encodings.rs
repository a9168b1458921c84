//! Objects as a real API server encodes them. `tests/encodings/record.sh` recorded each in protobuf
//! and in JSON.

use std::fs;
use std::path::PathBuf;

use evenkeel::model::api::Envelope;
use evenkeel::model::snapshot::import;
use evenkeel::model::snapshot::objects::{Object, ObjectKind};
use prost::Message;
use serde_json::Value;

fn recorded(file: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/encodings");
    fs::read(folder.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The message in the envelope of a recorded object.
fn message(file: &str) -> Vec<u8> {
    let bytes = recorded(file);
    let envelope = bytes.strip_prefix(&Envelope::MAGIC).unwrap();
    Envelope::decode(envelope).unwrap().raw.to_vec()
}

/// The files of one kind, without their endings.
fn files(kind: ObjectKind) -> Vec<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/encodings");
    let names = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let start = format!("{}-", kind.name());
    names
        .filter_map(|name| Some(name.strip_suffix(".pb")?.to_owned()))
        .filter(|name| name.starts_with(&start))
        .collect()
}

#[test]
fn protobuf_and_json_of_an_object_give_the_same_facts() {
    for kind in ObjectKind::ALL {
        let files = files(kind);
        assert!(!files.is_empty(), "nothing recorded of {kind:?}");
        for file in files {
            let from_protobuf = import::protobuf(kind, &message(&format!("{file}.pb"))).unwrap();
            let from_json = import::json(kind, &recorded(&format!("{file}.json"))).unwrap();
            assert_eq!(format!("{from_protobuf:#?}"), format!("{from_json:#?}"));
        }
    }
}

#[test]
fn a_file_gives_the_same_facts_as_the_api_server() {
    let value: Value = serde_json::from_slice(&recorded("Pod-web-1.json")).unwrap();
    let from_file = import::object(&value).unwrap().unwrap();
    let from_protobuf = import::protobuf(ObjectKind::Pod, &message("Pod-web-1.pb")).unwrap();
    assert_eq!(format!("{from_file:?}"), format!("{from_protobuf:?}"));
}

#[test]
fn the_recorded_pod_has_every_fact() {
    let pod = import::protobuf(ObjectKind::Pod, &message("Pod-web-1.pb")).unwrap();
    let Object::Pod(pod) = pod else { panic!("{pod:?}") };
    let counts = [
        pod.labels.len(),
        pod.owners.len(),
        pod.containers.len(),
        pod.tolerations.len(),
        pod.ports.len(),
        pod.required_anti_affinity.len() + pod.required_affinity.len() + pod.preferred_terms.len(),
        pod.preferred_nodes.len(),
        pod.spread.len(),
        pod.volumes.claims.len() + pod.volumes.ephemeral.len(),
        pod.conditions.len(),
        pod.sizes.requests.len(),
    ];
    assert_eq!(counts, [3, 1, 4, 2, 2, 4, 1, 1, 2, 2, 1]);
    assert_eq!(
        (pod.node.as_deref(), pod.priority, pod.ready),
        (Some("encoded-node"), Some(1000), true)
    );
}

/// The recorded pod is not bound. A message that follows another one is merged into it.
#[test]
fn the_nomination_and_the_preemption_policy_of_a_pod_are_read_in_both_encodings() {
    let read = |json: &str, protobuf: &[u8]| {
        let Object::Pod(pod) = import::json(ObjectKind::Pod, json.as_bytes()).unwrap() else {
            panic!("{json}")
        };
        let whole = [&message("Pod-bare.pb"), protobuf].concat();
        let Object::Pod(same) = import::protobuf(ObjectKind::Pod, &whole).unwrap() else {
            panic!("{json}")
        };
        assert_eq!(pod.nominated, same.nominated, "{json}");
        assert_eq!(pod.preempts, same.preempts, "{json}");
        (pod.nominated.clone(), pod.preempts)
    };
    let nominated = (Some("n2".to_owned()), true);
    let meta = r#""metadata": {"name": "bare"}"#;
    assert_eq!(
        read(
            &format!(r#"{{{meta}, "status": {{"nominatedNodeName": "n2"}}}}"#),
            // status (3) with nominatedNodeName (11)
            b"\x1a\x04\x5a\x02n2"
        ),
        nominated
    );
    assert_eq!(
        read(
            &format!(
                r#"{{{meta}, "spec": {{"nodeName": "n1"}},
                  "status": {{"nominatedNodeName": "n2"}}}}"#
            ),
            // and spec (2) with nodeName (10)
            b"\x12\x04\x52\x02n1\x1a\x04\x5a\x02n2"
        ),
        (None, true)
    );
    assert_eq!(
        read(
            &format!(r#"{{{meta}, "spec": {{"preemptionPolicy": "Never"}}}}"#),
            // spec (2) with preemptionPolicy (31)
            b"\x12\x08\xfa\x01\x05Never"
        ),
        (None, false)
    );
}
