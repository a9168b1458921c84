//! Lookup of nodes by the names and addresses that metrics use.

use std::collections::{BTreeMap, BTreeSet};

/// The names and addresses of all nodes.
#[derive(Clone, Debug, Default)]
pub struct NodeAddresses {
    names: BTreeSet<String>,
    /// Nodes by address. `None` marks an address that several nodes share, which identifies none of
    /// them.
    addresses: BTreeMap<String, Option<String>>,
}

impl NodeAddresses {
    /// Returns true without nodes.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Adds a node with its internal addresses.
    pub fn add(&mut self, name: &str, addresses: &[String]) {
        self.names.insert(name.to_owned());
        for address in addresses {
            let known =
                self.addresses.entry(address.clone()).or_insert_with(|| Some(name.to_owned()));
            if known.as_deref() != Some(name) {
                *known = None;
            }
        }
    }

    /// Returns the node with this name or address, with or without a port.
    pub fn find(&self, machine: &str) -> Option<&str> {
        let found = |word: &str| {
            let by_name = self.names.get(word).map(String::as_str);
            by_name.or_else(|| self.addresses.get(word)?.as_deref())
        };
        found(machine).or_else(|| found(host(machine)))
    }
}

/// Returns the part before the port. An IPv6 address with a port has brackets.
fn host(machine: &str) -> &str {
    let (host, port) = machine.rsplit_once(':').unwrap_or((machine, ""));
    let host = if port.chars().all(|c| c.is_ascii_digit()) { host } else { machine };
    host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_found_by_name_or_address_with_or_without_port() {
        let mut node_addresses = NodeAddresses::default();
        node_addresses.add("n1", &["10.0.0.1".to_owned(), "fd00::1".to_owned()]);
        node_addresses.add("n2.example", &["10.0.0.2".to_owned()]);
        for (machine, node) in [
            ("n1", Some("n1")),
            ("n1:10250", Some("n1")),
            ("10.0.0.1:9100", Some("n1")),
            ("10.0.0.1", Some("n1")),
            ("fd00::1", Some("n1")),
            ("[fd00::1]:9100", Some("n1")),
            ("n2.example:9100", Some("n2.example")),
            ("n2", None),
            ("10.0.0.3:9100", None),
            ("", None),
            (":", None),
        ] {
            assert_eq!(node_addresses.find(machine), node, "{machine}");
        }
    }

    #[test]
    fn an_address_of_two_nodes_identifies_neither() {
        let mut node_addresses = NodeAddresses::default();
        node_addresses.add("n1", &["127.0.0.1".to_owned()]);
        node_addresses.add("n2", &["127.0.0.1".to_owned()]);
        assert_eq!(
            (node_addresses.find("127.0.0.1:9100"), node_addresses.find("n2")),
            (None, Some("n2"))
        );
    }
}
