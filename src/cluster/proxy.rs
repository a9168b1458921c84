//! The proxy between this program and the API server, chosen as kubectl chooses it.
//!
//! The kube client would compare `NO_PROXY` with the address of the proxy, and not with that of the
//! API server, so its choice is replaced.

use std::net::IpAddr;

use http::Uri;
use http::uri::{InvalidUri, Scheme};
use hyper_util::client::proxy::matcher::Matcher;
use kube::config::Kubeconfig;

/// Returns the `proxy-url` of the cluster in the current context.
pub(super) fn in_kubeconfig(kubeconfig: &Kubeconfig) -> Option<String> {
    let current = kubeconfig.current_context.as_ref()?;
    let context = kubeconfig.contexts.iter().find(|context| context.name == *current)?;
    let name = &context.context.as_ref()?.cluster;
    let cluster = kubeconfig.clusters.iter().find(|cluster| cluster.name == *name)?;
    cluster.cluster.as_ref()?.proxy_url.clone().filter(|url| !url.is_empty())
}

/// Returns the proxy for requests to the API server; `None` if they go there directly.
///
/// A proxy of the kubeconfig is always used. Otherwise the variables of the environment decide, by
/// the rules of Go.
pub(super) fn choose(
    in_kubeconfig: Option<String>,
    api_server: &Uri,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Option<Uri>, InvalidUri> {
    let variable = |name: &str| {
        let set = |name: &str| environment(name).filter(|value| !value.is_empty());
        set(name).or_else(|| set(&name.to_lowercase()))
    };
    let in_environment = || {
        let is_plain = api_server.scheme() == Some(&Scheme::HTTP);
        let proxy = variable(if is_plain { "HTTP_PROXY" } else { "HTTPS_PROXY" })?;
        let exempt = variable("NO_PROXY").unwrap_or_default();
        (!is_local(api_server) && !is_exempt(api_server, &exempt)).then_some(proxy)
    };
    in_kubeconfig.or_else(in_environment).map(|proxy| parse(&proxy)).transpose()
}

/// Parses the URL of a proxy. Without a scheme it means HTTP.
fn parse(proxy: &str) -> Result<Uri, InvalidUri> {
    if proxy.contains("://") { proxy.parse() } else { format!("http://{proxy}").parse() }
}

/// Whether the address is one of this machine, which needs no proxy.
fn is_local(api_server: &Uri) -> bool {
    let host = api_server.host().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|a: IpAddr| a.is_loopback())
}

/// Whether a value of `NO_PROXY` names the host: `*`, or an address, a network or a domain of it.
fn is_exempt(api_server: &Uri, no_proxy: &str) -> bool {
    let entries: Vec<&str> = no_proxy.split(',').map(str::trim).collect();
    if entries.contains(&"*") {
        return true;
    }
    // The matcher knows `.corp`, but not `*.corp`.
    let domains = entries.iter().map(|entry| entry.strip_prefix('*').unwrap_or(entry));
    let no_proxy = domains.collect::<Vec<_>>().join(",");
    let any_proxy = Matcher::builder().all("http://proxy").no(no_proxy).build();
    any_proxy.intercept(api_server).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROXY: &str = "http://proxy.corp:3128";

    /// The proxy for this API server, with variables as in `NAME=value; NAME=value`.
    fn chosen(api_server: &str, variables: &str) -> Option<String> {
        let environment = |name: &str| {
            let mut set = variables.split("; ").filter_map(|set| set.split_once('='));
            set.find(|(set, _)| *set == name).map(|(_, value)| value.to_owned())
        };
        let proxy = choose(None, &api_server.parse().unwrap(), environment).unwrap()?;
        Some(proxy.to_string().trim_end_matches('/').to_owned())
    }

    fn is_direct(api_server: &str, no_proxy: &str) -> bool {
        chosen(api_server, &format!("HTTPS_PROXY={PROXY}; NO_PROXY={no_proxy}")).is_none()
    }

    #[test]
    fn the_scheme_of_the_api_server_chooses_the_variable() {
        let both = "HTTPS_PROXY=http://secure:1; HTTP_PROXY=http://plain:2; ALL_PROXY=http://all:3";
        assert_eq!(chosen("https://k8s.corp:6443", both).unwrap(), "http://secure:1");
        assert_eq!(chosen("http://k8s.corp:8080", both).unwrap(), "http://plain:2");
        assert_eq!(chosen("https://k8s.corp:6443", "HTTP_PROXY=http://plain:2"), None);
        assert_eq!(chosen("https://k8s.corp:6443", "ALL_PROXY=http://all:3"), None);
    }

    #[test]
    fn a_variable_may_be_in_lower_case_and_lack_the_scheme_and_an_empty_one_is_not_set() {
        for (variables, expected) in [
            ("https_proxy=proxy.corp:3128", PROXY),
            ("HTTPS_PROXY=; https_proxy=http://proxy.corp:3128", PROXY),
            ("HTTPS_PROXY=http://me:secret@proxy.corp:3128", "http://me:secret@proxy.corp:3128"),
            ("HTTPS_PROXY=socks5://proxy.corp:1080", "socks5://proxy.corp:1080"),
        ] {
            assert_eq!(chosen("https://k8s.corp", variables).as_deref(), Some(expected));
        }
        assert_eq!(chosen("https://k8s.corp", "HTTPS_PROXY="), None);
    }

    #[test]
    fn no_proxy_names_hosts_domains_addresses_and_networks() {
        for no_proxy in [
            "k8s.corp",
            "K8S.corp",
            "corp",
            ".corp",
            "*.corp",
            "*",
            "other,.corp",
            "other, k8s.corp",
        ] {
            assert!(is_direct("https://k8s.corp:6443", no_proxy), "{no_proxy}");
        }
        for no_proxy in ["", "s.corp", "k8s.corp.org", "10.0.0.0/8", "proxy.corp"] {
            assert!(!is_direct("https://k8s.corp:6443", no_proxy), "{no_proxy}");
        }
        for no_proxy in ["10.1.2.3", "10.0.0.0/8", "*", "other,10.1.2.3"] {
            assert!(is_direct("https://10.1.2.3:6443", no_proxy), "{no_proxy}");
        }
        for no_proxy in ["10.1.2.4", "192.168.0.0/16", "3", "fd00::/8"] {
            assert!(!is_direct("https://10.1.2.3:6443", no_proxy), "{no_proxy}");
        }
        assert!(is_direct("https://[fd00::1]:6443", "fd00::/8"));
    }

    #[test]
    fn a_cluster_on_this_machine_needs_no_proxy() {
        for api_server in ["https://127.0.0.1:6443", "https://localhost:6443", "https://[::1]:6443"]
        {
            assert!(is_direct(api_server, ""), "{api_server}");
        }
        assert!(!is_direct("https://localhost.corp:6443", ""));
    }

    #[test]
    fn the_proxy_of_the_current_context_is_used_whatever_the_environment_says() {
        let text = "{current-context: b, contexts: [{name: a, context: {cluster: one}},
            {name: b, context: {cluster: two}}], clusters: [
            {name: one, cluster: {proxy-url: 'http://first:1'}},
            {name: two, cluster: {proxy-url: 'socks5://second:2'}}]}";
        let found = in_kubeconfig(&Kubeconfig::from_yaml(text).unwrap());
        let environment =
            |name: &str| Some(if name == "NO_PROXY" { "*" } else { PROXY }.to_owned());
        let api_server = Uri::from_static("https://127.0.0.1:6443");
        let proxy = choose(found, &api_server, environment).unwrap().unwrap();
        assert_eq!(proxy, "socks5://second:2");
    }
}
