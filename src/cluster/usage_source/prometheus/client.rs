//! Sends queries to a Prometheus server: deadlines, retries, POST and GET.
//!
//! The crate `prometheus-http-query` builds and sends instant queries. Two parts of it are not
//! used:
//!
//! - Its typed responses. They ignore warnings, so a partial result looks complete; one bad sample
//!   fails the whole response; a body may have any size; and errors in plain text are lost.
//! - Its range queries. They take start and end in whole seconds, while samples are read at exact
//!   milliseconds. Range queries use the same HTTP client directly.

use std::sync::Arc;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use prometheus_http_query::{Client, Error};
use reqwest::header::HeaderMap;
use reqwest::{Response, StatusCode};
use tracing::debug;

use crate::policy;

use super::connection::Connector;
use super::error::PrometheusError;
use super::http_error::{checked_body, unreachable};
use super::query::PromQuery;

/// The largest body that is read. For 150,000 pods, one query returns a third of it.
const LARGEST_BODY: usize = 128 << 20;
/// Longer queries are sent by POST. Percent-encoding at most triples a query, and proxies commonly
/// limit a request line to 8 KiB.
const LONGEST_GET: usize = 2000;
/// The pause before the first retry. Each further pause doubles, and jitter adds up to as much
/// again, so that several clients do not retry at the same moment.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// Client of one Prometheus server. Clones share the connection.
#[derive(Clone)]
pub(super) struct PrometheusClient {
    connector: Connector,
    retries: u32,
    /// The most time for the pauses before retries. With more, the deadline of a read would come
    /// before the error, and hide it.
    longest_pauses: Duration,
    pub(super) largest_body: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Get,
    Post,
}

impl PrometheusClient {
    /// Creates the client of reads with this deadline.
    pub(super) fn new(policy: Arc<policy::PrometheusPolicy>, deadline: Duration) -> Self {
        PrometheusClient {
            retries: policy.retries,
            longest_pauses: deadline / 2,
            connector: Connector::new(policy),
            largest_body: LARGEST_BODY,
        }
    }

    /// Returns the body of a successful response. Retries temporary errors.
    pub(super) async fn query(&self, query: &PromQuery<'_>) -> Result<String, PrometheusError> {
        let backoff = ExponentialBuilder::new()
            .with_min_delay(FIRST_PAUSE)
            .with_max_times(usize::try_from(self.retries).unwrap_or(usize::MAX))
            .with_total_delay(Some(self.longest_pauses))
            .with_jitter();
        (|| self.query_once(query)).retry(backoff).when(PrometheusError::is_temporary).await
    }

    async fn query_once(&self, query: &PromQuery<'_>) -> Result<String, PrometheusError> {
        let response = async {
            let mut response = self.send(query).await?;
            // The token may have been replaced while the request was on its way, so read it again.
            if response.status() == StatusCode::UNAUTHORIZED && self.connector.login().is_some() {
                response = self.send(query).await?;
            }
            checked_body(response, query, self.connector.login(), self.largest_body).await
        };
        let timeout = self.connector.timeout();
        tokio::time::timeout(timeout, response)
            .await
            .unwrap_or(Err(PrometheusError::Timeout(timeout)))
    }

    async fn send(&self, query: &PromQuery<'_>) -> Result<Response, PrometheusError> {
        let (client, headers) = (self.connector.client()?, self.connector.headers()?);
        if query.promql.len() <= LONGEST_GET {
            return request(&client, query, Method::Get, headers).await;
        }
        let posted = request(&client, query, Method::Post, headers.clone()).await?;
        if !forbids_post(posted.status()) {
            return Ok(posted);
        }
        let (name, post) = (query.name, posted.status().as_u16());
        debug!(query = name, status = post, "POST not allowed, sending the query by GET");
        let got = request(&client, query, Method::Get, headers).await?;
        if !is_url_too_long(got.status()) {
            return Ok(got);
        }
        Err(PrometheusError::QueryTooLong {
            query: name,
            bytes: query.promql.len(),
            post,
            get: got.status().as_u16(),
        })
    }
}

async fn request(
    client: &Client,
    query: &PromQuery<'_>,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, PrometheusError> {
    if query.times.is_range() {
        range_request(client, query, method, headers).await.map_err(|error| unreachable(&error))
    } else {
        instant_request(client, query, method, &headers).await.map_err(|error| not_sent(&error))
    }
}

async fn instant_request(
    client: &Client,
    query: &PromQuery<'_>,
    method: Method,
    headers: &HeaderMap,
) -> Result<Response, Error> {
    let mut builder = client.query(query.promql);
    for (name, value) in query.times.params() {
        builder = builder.query(name, value);
    }
    for (name, value) in headers {
        builder = builder.header(name, value.clone());
    }
    match method {
        Method::Get => builder.get_raw().await,
        Method::Post => builder.post_raw().await,
    }
}

async fn range_request(
    client: &Client,
    query: &PromQuery<'_>,
    method: Method,
    headers: HeaderMap,
) -> reqwest::Result<Response> {
    let base = client.base_url().as_str().trim_end_matches('/');
    let url = format!("{base}{}", query.times.path());
    let mut params = vec![("query", query.promql.to_owned())];
    params.extend(query.times.params());
    let request = match method {
        Method::Get => client.inner().get(url).query(&params),
        Method::Post => client.inner().post(url).form(&params),
    };
    request.headers(headers).send().await
}

/// Statuses by which proxies reject a POST that they would accept as a GET. 403 comes from proxies
/// that map POST to the verb `create` of RBAC.
fn forbids_post(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::FORBIDDEN
            | StatusCode::METHOD_NOT_ALLOWED
            | StatusCode::UNSUPPORTED_MEDIA_TYPE
            | StatusCode::NOT_IMPLEMENTED
    )
}

fn is_url_too_long(status: StatusCode) -> bool {
    matches!(status, StatusCode::URI_TOO_LONG | StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)
}

fn not_sent(error: &Error) -> PrometheusError {
    if let Error::Client(client) = error
        && let Some(cause) = client.inner()
    {
        return unreachable(cause);
    }
    PrometheusError::Unreachable(error.to_string())
}
