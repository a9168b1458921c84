//! The block `usage.prometheus`, as far as it is other than by default.

use super::super::prometheus::{NODE_LABELS, RETRIES, SCRAPE_INTERVAL, TIMEOUT};
use super::super::{Login, Prometheus, Queries};
use super::duration;
use super::yaml::{Fields, Item};

pub(super) fn prometheus(it: &Prometheus) -> Item {
    let mut fields = Fields::default();
    fields.put("url", Item::text(&it.url));
    fields.section("queries", queries(&it.queries, &Queries::default()));
    fields.unless(it.matchers.is_empty(), "matchers", Item::text(&it.matchers));
    fields.unless(
        it.node_labels == NODE_LABELS,
        "nodeLabels",
        Item::texts(&it.node_labels),
    );
    fields.unless(
        it.scrape_interval == SCRAPE_INTERVAL,
        "scrapeInterval",
        duration(it.scrape_interval),
    );
    fields.unless(
        it.averaged_over == it.scrape_interval,
        "averagedOver",
        duration(it.averaged_over),
    );
    fields.unless(it.timeout == TIMEOUT, "timeout", duration(it.timeout));
    fields.unless(it.retries == RETRIES, "retries", Item::number(it.retries));
    let text = |text: &String| Item::text(text);
    fields.option("caFile", it.ca_file.as_ref().map(text));
    if let Some(files) = &it.client_certificate {
        fields.put("clientCertificateFile", text(&files.certificate));
        fields.put("clientKeyFile", text(&files.key));
    }
    match &it.login {
        Some(Login::Bearer(file)) => fields.put("bearerTokenFile", text(file)),
        Some(Login::Basic {
            username,
            password_file,
        }) => {
            let mut basic = Fields::default();
            basic.put("username", text(username));
            basic.put("passwordFile", text(password_file));
            fields.section("basicAuth", basic);
        }
        None => {}
    }
    let mut headers = Fields::default();
    for (name, value) in &it.headers {
        headers.put(name, text(value));
    }
    fields.section("headers", headers);
    Item::Map(fields)
}

fn queries(it: &Queries, default: &Queries) -> Fields {
    let mut fields = Fields::default();
    for (name, query, default) in [
        ("nodeCpu", Some(&it.node_cpu), Some(&default.node_cpu)),
        (
            "nodeMemory",
            Some(&it.node_memory),
            Some(&default.node_memory),
        ),
        (
            "nodeTime",
            it.node_time.as_ref(),
            default.node_time.as_ref(),
        ),
        ("podCpu", Some(&it.pod_cpu), Some(&default.pod_cpu)),
        ("podMemory", Some(&it.pod_memory), Some(&default.pod_memory)),
        ("podTime", it.pod_time.as_ref(), default.pod_time.as_ref()),
    ] {
        fields.unless(
            query == default,
            name,
            query.map_or(Item::word("none"), |query| Item::text(query)),
        );
    }
    fields
}
