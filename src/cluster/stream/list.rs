//! Lists, page by page and item by item.

use std::time::Duration;

use futures::AsyncBufRead;
use kube::Client;

use crate::cluster::client::query_value;
use crate::model::api::ListMetadata;

use super::json::JsonList;
use super::limited::{Limited, fits};
use super::protobuf::ProtobufList;
use super::{Format, Reply, StreamError, get};

/// Objects in one page of a list.
const PAGE_SIZE: u32 = 500;
/// The limit that asks for the whole list.
const NO_LIMIT: u32 = 0;
/// The limit of one item. etcd stores at most 1.5 MiB per object by default, which is up to three
/// times as much in JSON.
const ITEM_LIMIT: usize = 8 * 1024 * 1024;
/// The longest time without data within a page.
const SILENCE_LIMIT: Duration = Duration::from_secs(30);

/// The list of one path, which is read page by page or as a whole. A page that fails can be asked
/// for again.
pub(in crate::cluster) struct Pages {
    path: String,
    accepted: Format,
    /// The most objects in one answer.
    limit: u32,
    /// The token of the next page; empty for the first.
    token: String,
}

/// The body of one page.
pub(in crate::cluster) struct ListBody<R> {
    body: Limited<R>,
    list: List,
    item: Vec<u8>,
    /// The bytes of all items so far, and their limit.
    read: usize,
    budget: usize,
}

enum List {
    Json(JsonList),
    Protobuf(ProtobufList),
}

impl Pages {
    /// A list that is read page by page.
    pub(in crate::cluster) fn new(path: &str, accepted: Format) -> Self {
        Pages { path: path.to_owned(), accepted, limit: PAGE_SIZE, token: String::new() }
    }

    /// A list that comes as a whole, as one page.
    pub(in crate::cluster) fn whole(path: &str, accepted: Format) -> Self {
        Pages { limit: NO_LIMIT, ..Pages::new(path, accepted) }
    }

    /// Sets the format to ask for from now on. Tokens hold for every format.
    pub(in crate::cluster) const fn accept(&mut self, accepted: Format) {
        self.accepted = accepted;
    }

    /// Reads the next page and passes on its items. Returns the resource version of the list after
    /// the last page. After an error, the same page is asked for again.
    pub(in crate::cluster) async fn next(
        &mut self,
        client: &Client,
        mut each: impl FnMut(Format, &[u8]),
    ) -> Result<Option<String>, StreamError> {
        let mut uri = format!("{}?limit={}", self.path, self.limit);
        if !self.token.is_empty() {
            uri = format!("{uri}&continue={}", query_value(&self.token));
        }
        let reply = get(client, &uri, self.accepted).await?;
        let mut list = ListBody::new(reply, usize::MAX);
        while let Some((format, item)) = list.next().await? {
            each(format, item);
        }
        let metadata = list.metadata();
        self.token.clone_from(&metadata.next);
        Ok(self.token.is_empty().then(|| metadata.resource_version.clone()))
    }
}

impl<R: AsyncBufRead + Unpin> ListBody<R> {
    /// Reads the body of a list. `budget` limits the size of all items together.
    pub(in crate::cluster) fn new(reply: Reply<R>, budget: usize) -> Self {
        let list = match reply.format {
            Format::Json => List::Json(JsonList::new()),
            Format::Protobuf => List::Protobuf(ProtobufList::new()),
        };
        ListBody {
            body: reply.body.silence(SILENCE_LIMIT),
            list,
            item: Vec::new(),
            read: 0,
            budget,
        }
    }

    /// Reads the next item; `None` after the last one.
    pub(in crate::cluster) async fn next(
        &mut self,
    ) -> Result<Option<(Format, &[u8])>, StreamError> {
        let ListBody { body, item, .. } = self;
        let (format, more) = match &mut self.list {
            List::Json(list) => (Format::Json, list.next(body, ITEM_LIMIT, item).await?),
            List::Protobuf(list) => (Format::Protobuf, list.next(body, ITEM_LIMIT, item).await?),
        };
        self.read += self.item.len();
        fits(self.read, self.budget, "answer")?;
        Ok(more.then_some((format, self.item.as_slice())))
    }

    pub(super) const fn metadata(&self) -> &ListMetadata {
        match &self.list {
            List::Json(list) => &list.metadata,
            List::Protobuf(list) => &list.metadata,
        }
    }
}
