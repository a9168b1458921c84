//! A cluster in a file of ordinary Kubernetes objects.
//!
//! Lists are read object by object, and only the facts of each object are kept. The text of a large
//! cluster is ten times larger than the facts that decisions need.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::model::guard::recorded::GuardHistory;
use crate::model::snapshot::facts::Skipped;
use crate::model::snapshot::import;
use crate::model::snapshot::lacking::Lack;
use crate::model::snapshot::objects::{ObjectKind, Objects};
use crate::model::usage::Readings;
use crate::model::usage::import as metrics;
use crate::model::usage::recorded::UsageHistory;
use crate::model::usage::recorded::object::HistoryItem;
use crate::values::text::count;

mod item;

use item::ObjectItem;

/// How to record a file for `--from`. The commands record every kind that a plan reads, and docs/
/// repeats them.
pub(crate) const HOW_TO: &str = "\
`evenkeel snapshot -o cluster.json` records a file for --from. kubectl does,
too; JSON reads faster than YAML, and the last command adds the usage. A plan
from an incomplete file may differ; docs/using.md lists what each missing kind
changes:
  kubectl get nodes,pods,pdb,ns,services,priorityclasses,rs,rc,sts,jobs \\
      -A -o json > cluster.json
  kubectl get pvc,pv,storageclasses,csinodes,volumeattachments \\
      -A -o json >> cluster.json
  kubectl get nodes.metrics.k8s.io,pods.metrics.k8s.io \\
      -A -o json >> cluster.json";

/// The contents of a file.
#[derive(Debug, Default)]
pub(crate) struct ClusterFile {
    pub(crate) objects: Objects,
    pub(crate) readings: Readings,
    /// The usage before.
    pub(crate) history: Option<UsageHistory>,
    /// The recorded series of guards.
    pub(crate) guards: Vec<GuardHistory>,
    /// The texts of ledgers, by namespace and name of their ConfigMaps.
    pub(crate) ledgers: BTreeMap<(String, String), String>,
    /// The number of objects by kind that no plan uses.
    unused: BTreeMap<String, usize>,
    /// The kinds that the file lists as a whole, even if there are none.
    listed: BTreeSet<ObjectKind>,
    /// The kinds whose list goes on behind its last part in the file.
    cut_off: BTreeSet<ObjectKind>,
}

/// Why a file is not that of a cluster.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClusterFileError {
    #[error("invalid JSON")]
    Json(#[source] serde_json::Error),
    #[error("{}", .0.render_with_formatter(&serde_saphyr::UserMessageFormatter))]
    Yaml(Box<serde_saphyr::Error>),
    /// A second object begins in this line, as after `kubectl … -o yaml >> file`.
    #[error("line {0}: another document begins here; put `---` before it")]
    Joined(u64),
    /// The API server has returned a part of a list, as with `?limit=500`.
    #[error(
        "{0}List: found a part of a list, because its metadata.continue is set; \
         expected the other parts too, or the whole list as `kubectl get` prints it"
    )]
    CutOff(&'static str),
    /// The file has no node; this is its content.
    #[error("expected at least one node, found {0}\n\n{HOW_TO}")]
    NoNode(String),
}

/// Reads the text of a file. Objects that are not valid are skipped and counted.
///
/// # Errors
/// The text is neither JSON nor YAML, lacks a part of a list, or has no node.
pub(crate) fn parse(text: &str) -> Result<ClusterFile, ClusterFileError> {
    // JSON with separators is YAML. No line of JSON begins with a separator.
    let is_json = text.trim_start().starts_with(['{', '[']) && !text.contains("\n---");
    let mut cluster = if is_json { json(text)? } else { yaml(text)? };
    cluster.note_lacking();
    if let Some(kind) = cluster.cut_off.first() {
        return Err(ClusterFileError::CutOff(kind.name()));
    }
    if cluster.objects.count(ObjectKind::Node) == 0 {
        return Err(ClusterFileError::NoNode(cluster.summary()));
    }
    Ok(cluster)
}

fn json(text: &str) -> Result<ClusterFile, ClusterFileError> {
    // `kubectl … >> file` appends a second document, so a file may have several.
    let mut all = Documents::default();
    for document in serde_json::Deserializer::from_str(text).into_iter::<FileDocument>() {
        all.extend([document.map_err(ClusterFileError::Json)?]);
    }
    Ok(all.0)
}

fn yaml(text: &str) -> Result<ClusterFile, ClusterFileError> {
    let options = serde_saphyr::options! {
        with_snippet: false,
        // `y` and `no` are names: kubectl quotes them, other tools need not.
        strict_booleans: true,
        merge_keys: serde_saphyr::options::MergeKeyPolicy::AsOrdinary,
        // kubectl does not quote a text such as 7e12345, which is too large for a number.
        non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::AsString,
        // The user's own file may be large. Only its depth is limited, which bounds the stack.
        budget: serde_saphyr::budget! {
            max_events: usize::MAX,
            max_nodes: usize::MAX,
            max_documents: usize::MAX,
            max_total_scalar_bytes: usize::MAX,
            max_depth: 128,
        },
    };
    let all: Result<Documents, _> =
        serde_saphyr::from_str_multiple_with_options::<FileDocument, _>(text, options);
    Ok(all.map_err(yaml_error)?.0)
}

fn yaml_error(error: serde_saphyr::Error) -> ClusterFileError {
    if let serde_saphyr::Error::DuplicateMappingKey { key: Some(key), location } = &error
        && key == "apiVersion"
        && location.column() == 1
    {
        return ClusterFileError::Joined(location.line());
    }
    ClusterFileError::Yaml(Box::new(error))
}

impl ClusterFile {
    /// `10 nodes, 80 pods, 1 PodDisruptionBudget; metrics of 10 nodes and 80 pods; not used: 3
    /// ConfigMap`.
    pub(crate) fn summary(&self) -> String {
        let kinds = [
            (ObjectKind::Node, "node"),
            (ObjectKind::Pod, "pod"),
            (ObjectKind::Budget, "PodDisruptionBudget"),
        ];
        let counts: Vec<String> = kinds
            .into_iter()
            .map(|(kind, noun)| (self.objects.count(kind), noun))
            .filter(|(n, _)| *n > 0)
            .map(|(n, noun)| count(n, noun))
            .collect();
        let mut parts = vec![if counts.is_empty() {
            "neither nodes nor pods".to_owned()
        } else {
            counts.join(", ")
        }];
        let (nodes, pods) = (self.readings.nodes.len(), self.readings.pods.len());
        parts.push(match nodes + pods {
            0 => "no metrics".to_owned(),
            _ => format!("metrics of {} and {}", count(nodes, "node"), count(pods, "pod")),
        });
        parts.extend(self.history.as_ref().map(UsageHistory::summary));
        let unused = self.unused.iter().map(|(kind, n)| format!("{n} {kind}"));
        let unused: Vec<String> = unused.collect();
        if !unused.is_empty() {
            parts.push(format!("not used: {}", unused.join(", ")));
        }
        parts.join("; ")
    }

    /// Notes the kinds of which the file has no object. Without a node it is refused anyway. A file
    /// with one object of a kind has recorded the kind, and so has one with an empty list of the
    /// kind.
    fn note_lacking(&mut self) {
        for kind in ObjectKind::ALL {
            let known = self.objects.count(kind) > 0 || self.listed.contains(&kind);
            self.objects.set_lacking(kind, (!known).then_some(Lack::NotInFile));
        }
    }

    /// Notes a list, or a part of one. The last part does not go on.
    fn add_list(&mut self, kind: ObjectKind, goes_on: bool) {
        self.listed.insert(kind);
        if goes_on {
            self.cut_off.insert(kind);
        } else {
            self.cut_off.remove(&kind);
        }
    }

    fn add_history(&mut self, item: Result<Box<HistoryItem>, Box<Skipped>>) {
        let item = item.map_err(|skipped| *skipped);
        let added = item.and_then(|item| item.add_to(&mut self.history));
        if let Err(skipped) = added {
            self.readings.skipped.add(skipped);
        }
    }

    /// The time of the newest metrics, as most nodes see it. `stale_after` is the age at which a
    /// sample no longer counts.
    pub(crate) fn newest_metrics(&self, stale_after: SignedDuration) -> Option<Timestamp> {
        // The API server stamps objects by its own clock.
        let pods = self.objects.pods().map(|pod| pod.created);
        let created = self.objects.nodes().map(|node| node.created).chain(pods);
        let passed = created.max().unwrap_or(Timestamp::UNIX_EPOCH);
        self.readings.present(stale_after, passed)
    }
}

/// All documents of a file, added while they are read.
#[derive(Default)]
struct Documents(ClusterFile);

impl Extend<FileDocument> for Documents {
    fn extend<I: IntoIterator<Item = FileDocument>>(&mut self, documents: I) {
        for item in documents.into_iter().flat_map(|document| document.0) {
            match item {
                ObjectItem::Object(object) => self.0.objects.add(*object),
                ObjectItem::Skipped(kind, skipped) => self.0.objects.add_skipped(kind, *skipped),
                ObjectItem::Metrics(value) => drop(metrics::take(&value, &mut self.0.readings)),
                ObjectItem::History(item) => self.0.add_history(item),
                ObjectItem::Guard(Ok(series)) => self.0.guards.push(*series),
                ObjectItem::Guard(Err(skipped)) => self.0.readings.skipped.add(*skipped),
                ObjectItem::Ledger(name, text) => drop(self.0.ledgers.insert(name, text)),
                ObjectItem::Unused(kind) => *self.0.unused.entry(kind).or_default() += 1,
                ObjectItem::Listed { kind, goes_on } => self.0.add_list(kind, goes_on),
            }
        }
    }
}

/// One document: an object or a list of objects.
struct FileDocument(Vec<ObjectItem>);

impl<'de> Deserialize<'de> for FileDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DocumentVisitor)
    }
}

struct DocumentVisitor;

impl<'de> Visitor<'de> for DocumentVisitor {
    type Value = FileDocument;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Kubernetes object or a list of objects")
    }

    fn visit_unit<E>(self) -> Result<FileDocument, E> {
        Ok(FileDocument(Vec::new()))
    }

    /// Text that is not YAML is a single scalar to the parser. The error does not repeat it,
    /// because it may be long.
    fn visit_str<E: Error>(self, _text: &str) -> Result<FileDocument, E> {
        Err(E::custom("found plain text, expected a Kubernetes object or a list of objects"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<FileDocument, A::Error> {
        let mut list = ObjectList::default();
        list.take(items)?;
        Ok(list.finish())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FileDocument, A::Error> {
        let mut list = ObjectList::default();
        let mut is_list = false;
        let mut fields = serde_json::Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if key == "items" {
                is_list = true;
                map.next_value_seed(Items(&mut list))?;
            } else {
                let value = map.next_value::<Value>()?;
                list.learn(&key, &value);
                fields.insert(key, value);
            }
        }
        // An empty list, as `kubectl get` prints it, still has the field `items`; an object has
        // not.
        Ok(if is_list {
            list.finish()
        } else {
            FileDocument(vec![ObjectItem::new(Value::Object(fields))])
        })
    }
}

/// The items of a list. Items of a typed list such as `PodList` may lack their kind, which the list
/// then implies. `waiting` holds such items until the list's own kind is read.
#[derive(Default)]
struct ObjectList {
    kind: Option<String>,
    api_version: Option<String>,
    /// Whether the API server has returned a part of the list.
    goes_on: bool,
    items: Vec<ObjectItem>,
    waiting: Vec<Value>,
}

impl ObjectList {
    /// Takes note of the list's own kind and version, and of its end.
    fn learn(&mut self, key: &str, value: &Value) {
        let text = value.as_str().map(str::to_owned);
        match key {
            "kind" => self.kind = text,
            "apiVersion" => self.api_version = text,
            "metadata" => {
                self.goes_on = value["continue"].as_str().is_some_and(|token| !token.is_empty());
            }
            _ => {}
        }
    }

    fn take<'de, A: SeqAccess<'de>>(&mut self, mut items: A) -> Result<(), A::Error> {
        while let Some(mut value) = items.next_element::<Value>()? {
            // Lists among the items, as where several of them were put into one.
            if value.is_array() || value.get("items").is_some() {
                let inner = FileDocument::deserialize(value).map_err(A::Error::custom)?;
                self.items.extend(inner.0);
            } else if self.name(&mut value) {
                self.items.push(ObjectItem::new(value));
            } else {
                self.waiting.push(value);
            }
        }
        Ok(())
    }

    /// Gives an item the kind that its list implies. Returns whether the item has a kind now.
    fn name(&self, value: &mut Value) -> bool {
        let Value::Object(fields) = value else {
            return true;
        };
        if fields.contains_key("kind") {
            return true;
        }
        let (Some(list), Some(version)) = (&self.kind, &self.api_version) else {
            return false;
        };
        let kind = list.strip_suffix("List").unwrap_or_default();
        fields.insert("kind".to_owned(), kind.into());
        fields.insert("apiVersion".to_owned(), version.as_str().into());
        true
    }

    /// Returns the kind of the items, if the list names it.
    fn kind_of_items(&self) -> Option<ObjectKind> {
        let (list, version) = (self.kind.as_ref()?, self.api_version.as_ref()?);
        import::kind_of(version, list.strip_suffix("List")?)
    }

    fn finish(mut self) -> FileDocument {
        let goes_on = self.goes_on;
        let listed = self.kind_of_items().map(|kind| ObjectItem::Listed { kind, goes_on });
        self.items.extend(listed);
        for mut value in std::mem::take(&mut self.waiting) {
            self.name(&mut value);
            self.items.push(ObjectItem::new(value));
        }
        FileDocument(self.items)
    }
}

struct Items<'l>(&'l mut ObjectList);

impl<'de> DeserializeSeed<'de> for Items<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Items<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of Kubernetes objects")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<(), A::Error> {
        self.0.take(items)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::any;

    use super::*;

    /// The error with its cause.
    fn text_of(error: &ClusterFileError) -> String {
        match std::error::Error::source(error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        }
    }

    const NODE: &str = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: '8', memory: 32Gi}}\n";

    #[test]
    fn a_part_of_a_list_is_refused_without_the_others() {
        let part = |kind: &str, more: &str, item: &str| {
            format!(
                r#"{{"kind":"{kind}List","apiVersion":"v1",
                    "metadata":{{"continue":"{more}"}},"items":[{item}]}}"#
            )
        };
        let node = r#"{"metadata":{"name":"n1"}}"#;
        let nodes = part("Node", "", node);
        let first = part("Pod", "abc", "");
        let error = parse(&format!("{first}{nodes}")).unwrap_err();
        assert!(text_of(&error).starts_with("PodList: found a part of a list"), "{error}");
        let last = part("Pod", "", "");
        assert!(parse(&format!("{first}{nodes}{last}")).is_ok());
        // Some printers sort the fields.
        let sorted = format!(
            r#"{{"apiVersion":"v1","items":[{node}],"kind":"NodeList",
                "metadata":{{"continue":"abc"}}}}"#
        );
        assert!(matches!(parse(&sorted), Err(ClusterFileError::CutOff("Node"))));
    }

    #[test]
    fn yaml_documents_lists_and_empty_documents_are_read() {
        let text = format!(
            "---\n# a comment\n---\n{NODE}---\nnull\n---\napiVersion: v1\nkind: List\nitems:\n- \
             apiVersion: v1\n  kind: Pod\n  metadata: {{name: a, namespace: d, uid: u, \
             creationTimestamp: 2026-01-01T00:00:00Z, labels: {{v: \"on\", w: \"1.0\"}}}}\n  spec: \
             {{nodeName: n1, containers: []}}\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: \
             {{name: c}}\n---\n"
        );
        let cluster = parse(&text).unwrap();
        assert_eq!(cluster.objects.skipped().next(), None);
        assert_eq!(cluster.summary(), "1 node, 1 pod; no metrics; not used: 1 ConfigMap");
    }

    #[test]
    fn items_of_a_typed_list_take_their_kind_from_the_list() {
        let item = r#"{"metadata":{"name":"n1"},"status":{"allocatable":{"cpu":"8"}}}"#;
        for text in [
            format!(r#"{{"kind":"NodeList","apiVersion":"v1","items":[{item}]}}"#),
            format!(r#"{{"items":[{item}],"metadata":{{}},"apiVersion":"v1","kind":"NodeList"}}"#),
        ] {
            assert_eq!(parse(&text).unwrap().objects.count(ObjectKind::Node), 1, "{text}");
        }
    }

    #[test]
    fn json_documents_may_be_concatenated_and_may_hold_metrics() {
        let text = r#"
            {"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},
              "status":{"allocatable":{"cpu":"8"}}}
            {"kind":"NodeMetricsList","apiVersion":"metrics.k8s.io/v1beta1","items":[
              {"metadata":{"name":"n1"},"timestamp":"2026-01-01T00:00:00Z","window":"15s",
                "usage":{"cpu":"1","memory":"1Gi"}}]}
            {"kind":"PodMetrics","apiVersion":"metrics.k8s.io/v1beta1",
              "metadata":{"name":"a","namespace":"d"},
              "timestamp":"2026-01-01T00:00:00Z","window":"15s",
                "containers":[{"name":"c","usage":{"cpu":"1","memory":"1Gi"}}]}
            {"kind":"List","apiVersion":"v1","items":null}"#;
        let cluster = parse(text).unwrap();
        assert_eq!(cluster.summary(), "1 node; metrics of 1 node and 1 pod");
    }

    #[test]
    fn json_documents_may_have_separators() {
        let node = |name: &str| {
            format!(r#"{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{name}"}}}}"#)
        };
        for end in ["", "\n---\n"] {
            let text = format!("{}\n--- # next\n{}{end}", node("a\\u003c"), node("b"));
            assert_eq!(parse(&text).unwrap().summary(), "2 nodes; no metrics", "{text}");
        }
    }

    #[test]
    fn a_plain_array_of_objects_is_a_list() {
        let text = "[{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":\
            {\"name\":\"n1\"},\"status\":{\"allocatable\":{\"cpu\":\"8\"}}}]";
        assert_eq!(parse(text).unwrap().objects.count(ObjectKind::Node), 1);
    }

    #[test]
    fn lists_may_stand_in_lists() {
        let node = r#"{"metadata":{"name":"n1"},"status":{"allocatable":{"cpu":"8"}}}"#;
        let nodes = format!(r#"{{"kind":"NodeList","apiVersion":"v1","items":[{node}]}}"#);
        let pods = r#"{"kind":"PodList","apiVersion":"v1","items":[]}"#;
        for text in [
            format!(r#"{{"kind":"List","apiVersion":"v1","items":[{pods},{nodes}]}}"#),
            format!("[{nodes},[{pods}]]"),
        ] {
            let cluster = parse(&text).unwrap();
            assert_eq!(cluster.summary(), "1 node; no metrics", "{text}");
            assert!(cluster.listed.contains(&ObjectKind::Pod), "{text}");
        }
    }

    #[test]
    fn a_document_that_begins_without_a_separator_is_named() {
        let error = parse(&format!("{NODE}{NODE}")).unwrap_err();
        let expected = "line 5: another document begins here; put `---` before it";
        assert_eq!(text_of(&error), expected);
        assert!(parse(&format!("{NODE}---\n{}", NODE.replace("n1", "n2"))).is_ok());
    }

    #[test]
    fn an_invalid_object_is_skipped() {
        let text = format!(
            "{NODE}---\napiVersion: v1\nkind: Pod\nmetadata: {{name: a, namespace: d}}\nspec: {{nodeName: 7}}\n"
        );
        let cluster = parse(&text).unwrap();
        let skipped: Vec<_> = cluster
            .objects
            .skipped()
            .map(|skipped| (skipped.kind.as_str(), skipped.name.as_str()))
            .collect();
        assert_eq!(skipped, [("Pod", "a")]);
    }

    #[test]
    fn strings_that_look_like_other_types_stay_strings() {
        let labels = "{a: \"on\", b: \"1\", c: \"2026-01-01\", d: 2026-01-01T00:00:00Z, e: \
            7e12345, f: \"null\"}";
        let text = format!(
            "{NODE}---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: d, labels: {labels}}}\n"
        );
        assert_eq!(parse(&text).unwrap().objects.skipped().next(), None);
    }

    #[test]
    fn a_file_without_nodes_is_rejected_with_what_was_found() {
        let error = |text: &str| text_of(&parse(text).err().unwrap());
        assert!(
            error("").starts_with(
                "expected at least one node, found neither nodes nor pods; no metrics"
            ),
            "{}",
            error("")
        );
        let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
        assert!(error(config).contains("not used: 1 ConfigMap"), "{}", error(config));
        assert!(error(config).contains("kubectl get nodes,pods"), "{}", error(config));
        assert!(error("hello").contains("expected a Kubernetes object"), "{}", error("hello"));
    }

    #[test]
    fn a_syntax_error_names_its_line() {
        let error = |text: &str| text_of(&parse(text).err().unwrap());
        assert!(error("{\n\"kind\": }").contains("line 2"), "{}", error("{\n\"kind\": }"));
        assert!(
            error("kind: Node\na: [1\nb: 2\n").contains("line "),
            "{}",
            error("kind: Node\na: [1\nb: 2\n")
        );
    }

    const STREAM: &str = concat!(
        "apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {a: b}}\n",
        "status: {allocatable: {cpu: \"8\", memory: 32Gi, pods: \"110\"}, conditions: [{type: Ready, status: \"True\"}]}\n---\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: d, uid: u, creationTimestamp: 2026-01-01T00:00:00Z}\n",
        "spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: 100m}}}], tolerations: [{operator: Exists}]}\n",
        "status: {phase: Running}\n---\n",
        "apiVersion: metrics.k8s.io/v1beta1\nkind: NodeMetrics\nmetadata: {name: n1}\n",
        "timestamp: 2026-01-01T00:00:00Z\nwindow: 15s\nusage: {cpu: 1, memory: 1Gi}\n",
    );

    proptest::proptest! {

        #[test]
        fn corrupted_input_never_panics(
            as_json in any::<bool>(),
            changes in proptest::collection::vec(
                (any::<proptest::sample::Index>(), any::<u8>(), 0..3_u8),
                1..10,
            ),
        ) {
            let json = || {
                let values = serde_saphyr::from_multiple::<Value>(STREAM).unwrap();
                serde_json::to_string(&values).unwrap()
            };
            let mut bytes = if as_json { json() } else { STREAM.to_owned() }.into_bytes();
            for (at, byte, what) in changes {
                let at = at.index(bytes.len());
                match what {
                    0 => bytes[at] = byte,
                    1 => drop(bytes.drain(at..(at + usize::from(byte % 16)).min(bytes.len()))),
                    _ => bytes.insert(at, byte),
                }
                if bytes.is_empty() {
                    break;
                }
            }
            let _ = parse(&String::from_utf8_lossy(&bytes));
        }
    }
}
