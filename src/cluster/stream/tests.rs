//! Lists, watches and errors against a fake API server, with bytes that a real one sent.

use std::convert::Infallible;

use axum::Router;
use axum::body::Body as AnswerBody;
use axum::extract::Request as ApiRequest;
use axum::response::Response as ApiAnswer;
use futures::stream;
use proptest::prelude::*;

use super::*;
use crate::cluster::client::tests::serve;

const LIST: &[u8] = include_bytes!("../../../tests/encodings/list.pb");
const LIST_JSON: &[u8] = include_bytes!("../../../tests/encodings/list.json");
const WATCH: &[u8] = include_bytes!("../../../tests/encodings/watch.pb");
const WATCH_JSON: &[u8] = include_bytes!("../../../tests/encodings/watch.json");
const REFUSAL: &[u8] = include_bytes!("../../../tests/encodings/refusal.pb");
const REFUSAL_JSON: &[u8] = include_bytes!("../../../tests/encodings/refusal.json");
const JSON: &str = "application/json";

/// A client of a server that sends these bytes in small pieces.
async fn sending(status: u16, content: &'static str, bytes: Vec<u8>, piece: usize) -> Client {
    let router = Router::new().fallback(move |_: ApiRequest| {
        let pieces: Vec<Result<Vec<u8>, Infallible>> =
            bytes.chunks(piece).map(|c| Ok(c.to_vec())).collect();
        async move {
            ApiAnswer::builder()
                .status(status)
                .header("content-type", content)
                .header("retry-after", "7")
                .body(AnswerBody::from_stream(stream::iter(pieces)))
                .unwrap()
        }
    });
    serve(router).await
}

/// The items of a list and the token of the next page.
async fn listed(
    content: &'static str,
    bytes: &[u8],
    piece: usize,
) -> Result<(Vec<Vec<u8>>, String), StreamError> {
    let client = sending(200, content, bytes.to_vec(), piece).await;
    let reply = get(&client, "/list", Format::Protobuf).await?;
    let mut list = ListBody::new(reply, 1 << 20);
    let mut items = Vec::new();
    while let Some((_, item)) = list.next().await? {
        items.push(item.to_vec());
    }
    Ok((items, list.metadata().next.clone()))
}

async fn watched(
    content: &'static str,
    bytes: &[u8],
    piece: usize,
) -> Result<Vec<(String, Option<String>)>, StreamError> {
    let client = sending(200, content, bytes.to_vec(), piece).await;
    let reply = get(&client, "/watch", Format::Protobuf).await?;
    let mut body = WatchBody::new(reply, Duration::from_secs(9));
    let mut events = Vec::new();
    while let Some(event) = body.next().await? {
        events.push((event.kind.clone(), event.resource_version()));
    }
    Ok(events)
}

#[tokio::test]
async fn a_recorded_list_is_the_same_in_protobuf_and_json_however_it_is_cut() {
    for piece in [1, 2, 7, 1 << 16] {
        let (items, next) = listed(PROTOBUF, LIST, piece).await.unwrap();
        let (json_items, json_next) = listed(JSON, LIST_JSON, piece).await.unwrap();
        assert_eq!((items.len(), json_items.len()), (1, 1));
        assert!(!next.is_empty() && next == json_next, "{next} {json_next}");
    }
}

#[tokio::test]
async fn recorded_events_are_the_same_in_protobuf_and_json_however_they_are_cut() {
    for piece in [1, 3, 1 << 16] {
        let events = watched(PROTOBUF, WATCH, piece).await.unwrap();
        let kinds: Vec<&str> = events.iter().map(|(kind, _)| kind.as_str()).collect();
        assert_eq!(kinds[..2], ["MODIFIED", "MODIFIED"]);
        assert!(events.iter().all(|(_, version)| version.is_some()));
        assert_eq!(watched(JSON, WATCH_JSON, piece).await.unwrap(), events);
    }
}

#[tokio::test]
async fn a_refusal_has_its_message_and_pause() {
    for (content, bytes) in [(PROTOBUF, REFUSAL), (JSON, REFUSAL_JSON)] {
        let client = sending(404, content, bytes.to_vec(), 64).await;
        let error = get(&client, "/", Format::Protobuf).await.err().unwrap();
        assert_eq!((error.code, error.why.as_str()), (Some(404), "pods \"absent\" not found"));
        assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
        assert!(error.pause(1) >= Duration::from_secs(7) && !error.is_temporary());
    }
}

#[test]
fn the_page_of_a_proxy_becomes_one_line() {
    let why = |text: &str| refusal(503, Format::Json, text.as_bytes()).why;
    let page = "<html>\n<head>\u{1b}[31m</head>\n<body>no backend</body>\n</html>\n";
    assert_eq!(why(page), "status 503: <html> <head>[31m</head> <body>no backend</body> </html>…");
    assert!(why(&"long ".repeat(10_000)).len() < 400);
    assert_eq!(why(""), "status 503");
    assert_eq!(why(r#"{"kind": "Status", "message": "busy\n\nnow"}"#), "busy now");
}

#[tokio::test]
async fn a_list_that_ends_early_is_an_error() {
    for (content, bytes) in [(PROTOBUF, LIST), (JSON, LIST_JSON)] {
        for end in [0, 1, 5, 20, bytes.len() / 2] {
            let error = listed(content, &bytes[..end], 64).await.unwrap_err();
            assert_eq!(error.why, "the answer ended early", "{content} {end}");
            assert!(!error.invalid);
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_not_what_it_claims_to_be_is_invalid() {
    let lie = listed(PROTOBUF, LIST_JSON, 64).await.unwrap_err();
    assert_eq!(lie.why, "invalid list: no protobuf of Kubernetes");
    assert!(lie.may_be_about_protobuf());
    let lie = listed(JSON, b"<html>", 64).await.unwrap_err();
    assert_eq!(lie.why, "invalid list: found '<', expected '{'");
    for text in ["{}", r#"{"error": "upstream session expired"}"#] {
        let lie = listed(JSON, text.as_bytes(), 64).await.unwrap_err();
        assert_eq!(lie.why, "invalid list: it has no items", "{text}");
    }
}

#[tokio::test]
async fn json_lists_may_have_any_layout() {
    for (text, count) in [
        ("{\"items\":null}", 0),
        ("{\"items\":[]}", 0),
        ("{\"metadata\":{},\"items\":[]}", 0),
        (" { \"items\" : [ 7 , \"a]\\\"\" , {\"b\":\"}\"} ] , \"kind\" : 1 }\n", 3),
    ] {
        let (items, _) = listed(JSON, text.as_bytes(), 3).await.unwrap();
        assert_eq!(items.len(), count, "{text}");
    }
}

/// A list of one item of this size.
fn list_of(size: usize) -> Vec<u8> {
    let item = Envelope { raw: vec![7; size].into() };
    // `items` of a list has the number of `raw` of an envelope.
    let list = Envelope { raw: item.encode_to_vec().into() };
    [&Envelope::MAGIC, list.encode_to_vec().as_slice()].concat()
}

#[tokio::test]
async fn an_item_an_answer_and_an_event_have_limits() {
    let large = 9 << 20;
    let error = listed(PROTOBUF, &list_of(large), 1 << 16).await.unwrap_err();
    assert_eq!(error.why, "list item larger than the limit of 8 MiB");
    let json = [b"{\"items\":[\"".as_slice(), &vec![b'a'; large]].concat();
    let error = listed(JSON, &json, 1 << 16).await.unwrap_err();
    assert_eq!(error.why, "list item larger than the limit of 8 MiB");
    let error = listed(PROTOBUF, &list_of(2 << 20), 1 << 16).await.unwrap_err();
    assert_eq!(error.why, "answer larger than the limit of 1 MiB");
    let frame = [&u32::MAX.to_be_bytes(), WATCH].concat();
    let error = watched(PROTOBUF, &frame, 64).await.unwrap_err();
    assert_eq!(error.why, "watch event larger than the limit of 8 MiB");
    let error = watched(JSON, &vec![b'{'; large], 1 << 16).await.unwrap_err();
    assert_eq!(error.why, "watch event larger than the limit of 8 MiB");
}

proptest! {
    #[test]
    fn no_bytes_make_a_list_or_a_watch_panic(
        at in any::<prop::sample::Index>(),
        bytes in prop::collection::vec(any::<u8>(), 1..6),
        which in 0..4usize,
    ) {
        let (content, original) =
            [(PROTOBUF, LIST), (JSON, LIST_JSON), (PROTOBUF, WATCH), (JSON, WATCH_JSON)][which];
        let mut changed = original.to_vec();
        let start = at.index(changed.len());
        let end = changed.len().min(start + bytes.len());
        changed[start..end].copy_from_slice(&bytes[..end - start]);
        let format = if content == JSON { Format::Json } else { Format::Protobuf };
        let body = || Reply { format, body: Limited::new(futures::io::Cursor::new(&changed)) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let mut list = ListBody::new(body(), 1 << 20);
            while let Ok(Some(_)) = list.next().await {}
            let mut watch = WatchBody::new(body(), Duration::from_secs(9));
            while let Ok(Some(event)) = watch.next().await {
                let _ = event.resource_version();
            }
        });
    }
}
