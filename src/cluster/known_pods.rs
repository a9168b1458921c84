//! A digest of the pods that the watch knows. The debug log has it in each cycle, so that it can be
//! compared with a list of the API server.

use std::fmt::Write;

use ring::digest::{SHA256, digest as hash};
use tracing::{Level, debug, event_enabled};

use super::Cluster;

/// Returns a digest of namespaces, names and uids: the start of the SHA-256 of their sorted lines
/// `namespace/name uid`.
pub fn digest<'p>(pods: impl Iterator<Item = (&'p str, &'p str, &'p str)>) -> String {
    let lines = pods.map(|(namespace, name, uid)| format!("{namespace}/{name} {uid}\n"));
    let mut lines: Vec<String> = lines.collect();
    lines.sort_unstable();
    let digest = hash(&SHA256, lines.concat().as_bytes());
    let first = digest.as_ref().iter().take(8);
    first.fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

impl Cluster {
    /// Logs the number and the digest of the known pods at the level debug.
    pub fn log_known_pods(&self) {
        if !event_enabled!(Level::DEBUG) {
            return;
        }
        let objects = self.objects();
        let names =
            objects.pods().map(|pod| (pod.namespace.as_str(), pod.name.as_str(), pod.uid.as_str()));
        let (pods, digest) = (objects.pods().count(), digest(names));
        debug!(pods, digest, "known pods");
    }
}

#[cfg(test)]
mod tests {
    use super::digest;

    #[test]
    fn a_digest_depends_on_every_uid_and_not_on_the_order() {
        let pods = [("shop", "web-1", "u-1"), ("shop", "web-2", "u-2")];
        let [one, two] = pods;
        assert_eq!(digest(pods.into_iter()), digest([two, one].into_iter()));
        assert_ne!(digest(pods.into_iter()), digest([one].into_iter()));
        let replaced = ("shop", "web-2", "u-3");
        assert_ne!(digest(pods.into_iter()), digest([one, replaced].into_iter()));
        // By `printf 'shop/web-1 u-1\nshop/web-2 u-2\n' | sha256sum`.
        assert_eq!(digest(pods.into_iter()), "d5344097ca83eee4");
    }
}
