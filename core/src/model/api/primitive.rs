//! Quantities and times, which protobuf and JSON write differently.

use std::collections::BTreeMap;
use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

/// Amounts by resource.
pub type Quantities = BTreeMap<String, ApiQuantity>;

/// `Quantity` of k8s.io/apimachinery/pkg/api/resource: a string in protobuf, a string or number in
/// JSON.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ApiQuantity {
    /// The text, such as `250m`.
    #[prost(string, tag = "1")]
    pub text: String,
}

/// `Time` of k8s.io/apimachinery/pkg/apis/meta/v1: seconds and nanoseconds in protobuf, text of
/// RFC 3339 in JSON.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct ApiTime {
    /// Seconds since 1970. Missing if the time is not set, because the API server then sends an
    /// empty message.
    #[prost(int64, optional, tag = "1")]
    pub seconds: Option<i64>,
    /// Nanoseconds since the second.
    #[prost(int32, optional, tag = "2")]
    pub nanos: Option<i32>,
}

/// `Duration` of k8s.io/apimachinery/pkg/apis/meta/v1, only in protobuf.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct ApiDuration {
    /// Nanoseconds.
    #[prost(int64, tag = "1")]
    pub nanos: i64,
}

impl ApiTime {
    /// Returns the time; `None` if it is not set.
    ///
    /// # Errors
    /// If the time is out of range, a description of it.
    pub fn timestamp(self) -> Result<Option<Timestamp>, String> {
        let nanos = self.nanos.unwrap_or_default();
        let read = |seconds| {
            Timestamp::new(seconds, nanos)
                .map_err(|_| format!("found {seconds} seconds since 1970, expected a valid time"))
        };
        self.seconds.map(read).transpose()
    }
}

impl From<Timestamp> for ApiTime {
    fn from(time: Timestamp) -> Self {
        ApiTime { seconds: Some(time.as_second()), nanos: Some(time.subsec_nanosecond()) }
    }
}

impl From<ApiDuration> for SignedDuration {
    fn from(duration: ApiDuration) -> Self {
        SignedDuration::from_nanos(duration.nanos)
    }
}

impl<'de> Deserialize<'de> for ApiTime {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Timestamp::deserialize(from).map(ApiTime::from)
    }
}

impl<'de> Deserialize<'de> for ApiQuantity {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(QuantityVisitor)
    }
}

struct QuantityVisitor;

impl Visitor<'_> for QuantityVisitor {
    type Value = ApiQuantity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quantity")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ApiQuantity, E> {
        Ok(ApiQuantity { text: text.to_owned() })
    }

    // YAML without quotes turns `cpu: 2` into a number.
    fn visit_i64<E: Error>(self, number: i64) -> Result<ApiQuantity, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<ApiQuantity, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<ApiQuantity, E> {
        self.visit_str(&number.to_string())
    }
}

/// A message whose fields do not matter, only that it is there.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, prost::Message)]
pub struct ApiPresence {}
