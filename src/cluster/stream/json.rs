//! Splits JSON into values, as far as lists need it: an object whose items are read one by one.

use futures::AsyncBufRead;

use crate::model::api::ListMetadata;

use super::limited::{Limited, LimitedError, cut, fits};

/// The limit of a value that is not an item.
const OTHER_LIMIT: usize = 1024 * 1024;

pub(super) struct JsonList {
    state: JsonPlace,
    /// Whether there is a field `items`, which every list has, also an empty one.
    has_items: bool,
    pub(super) metadata: ListMetadata,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum JsonPlace {
    /// Before the object.
    Start,
    /// Between the fields of the object.
    Fields,
    /// Between the items.
    Items,
    End,
}

/// Finds the end of one value.
#[derive(Default)]
struct Scanner {
    depth: usize,
    in_text: bool,
    escaped: bool,
}

impl JsonList {
    pub(super) fn new() -> Self {
        JsonList { state: JsonPlace::Start, has_items: false, metadata: ListMetadata::default() }
    }

    /// Reads the next item into the buffer. Returns false after the last one.
    pub(super) async fn next<R: AsyncBufRead + Unpin>(
        &mut self,
        body: &mut Limited<R>,
        limit: usize,
        item: &mut Vec<u8>,
    ) -> Result<bool, LimitedError> {
        loop {
            match self.state {
                JsonPlace::Start => {
                    expect(body, b'{').await?;
                    self.state = JsonPlace::Fields;
                }
                JsonPlace::Fields => self.field(body, item).await?,
                JsonPlace::Items => match token(body).await? {
                    b',' => take(body),
                    b']' => {
                        take(body);
                        self.state = JsonPlace::Fields;
                    }
                    _ => {
                        value(body, limit, "list item", item).await?;
                        return Ok(true);
                    }
                },
                JsonPlace::End => {
                    if !self.has_items {
                        return Err(invalid("it has no items"));
                    }
                    body.drain().await?;
                    return Ok(false);
                }
            }
        }
    }

    async fn field<R: AsyncBufRead + Unpin>(
        &mut self,
        body: &mut Limited<R>,
        buffer: &mut Vec<u8>,
    ) -> Result<(), LimitedError> {
        match token(body).await? {
            b',' => {
                take(body);
                return Ok(());
            }
            b'}' => {
                take(body);
                self.state = JsonPlace::End;
                return Ok(());
            }
            _ => value(body, OTHER_LIMIT, "field name", buffer).await?,
        }
        let name: String = parse(buffer)?;
        expect(body, b':').await?;
        self.has_items |= name == "items";
        if name == "items" && token(body).await? == b'[' {
            take(body);
            self.state = JsonPlace::Items;
            return Ok(());
        }
        value(body, OTHER_LIMIT, "field of a list", buffer).await?;
        if name == "metadata" {
            self.metadata = parse(buffer)?;
        }
        Ok(())
    }
}

fn parse<T: serde::de::DeserializeOwned>(text: &[u8]) -> Result<T, LimitedError> {
    serde_json::from_slice(text).map_err(|e| invalid(&e.to_string()))
}

fn invalid(why: &str) -> LimitedError {
    LimitedError::Invalid(format!("invalid list: {why}"))
}

/// Returns the next byte that is not white space, without taking it.
async fn token<R: AsyncBufRead + Unpin>(body: &mut Limited<R>) -> Result<u8, LimitedError> {
    loop {
        match body.peek().await?.first() {
            None => return Err(cut()),
            Some(b' ' | b'\t' | b'\n' | b'\r') => body.take(1),
            Some(byte) => return Ok(*byte),
        }
    }
}

fn take<R: AsyncBufRead + Unpin>(body: &mut Limited<R>) {
    body.take(1);
}

async fn expect<R: AsyncBufRead + Unpin>(
    body: &mut Limited<R>,
    expected: u8,
) -> Result<(), LimitedError> {
    let found = token(body).await?;
    if found != expected {
        let (found, expected) = (found as char, expected as char);
        return Err(invalid(&format!("found {found:?}, expected {expected:?}")));
    }
    take(body);
    Ok(())
}

/// Reads one value into an emptied buffer. `what` names it.
async fn value<R: AsyncBufRead + Unpin>(
    body: &mut Limited<R>,
    limit: usize,
    what: &str,
    into: &mut Vec<u8>,
) -> Result<(), LimitedError> {
    into.clear();
    token(body).await?;
    let mut scanner = Scanner::default();
    loop {
        let data = body.peek().await?;
        if data.is_empty() {
            return Err(cut());
        }
        let (bytes, ended) = scanner.scan(data);
        fits(into.len() + bytes, limit, what)?;
        into.extend_from_slice(&data[..bytes]);
        body.take(bytes);
        if ended {
            if into.is_empty() {
                return Err(invalid("a value is missing"));
            }
            return Ok(());
        }
    }
}

impl Scanner {
    /// Returns how many bytes belong to the value, and whether they end it.
    fn scan(&mut self, data: &[u8]) -> (usize, bool) {
        for (position, byte) in data.iter().enumerate() {
            if self.in_text {
                self.text(*byte);
                if !self.in_text && self.depth == 0 {
                    return (position + 1, true);
                }
                continue;
            }
            match byte {
                b'"' => self.in_text = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth > 0 => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return (position + 1, true);
                    }
                }
                // A number or a word ends before the next token.
                b'}' | b']' | b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' if self.depth == 0 => {
                    return (position, true);
                }
                _ => {}
            }
        }
        (data.len(), false)
    }

    fn text(&mut self, byte: u8) {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => self.in_text = false,
            _ => {}
        }
    }
}
