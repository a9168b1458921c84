//! Parsing of the usage of pods: a quantity such as `1500m`, or a curve.

use jiff::SignedDuration;

use crate::model::usage::Measure;
use crate::policy::problem::Code;
use crate::policy::read::{Fields, Spot};
use crate::policy::tree::Value;
use crate::simulate::load::{Curve, Load, Shape};
use crate::values::{Amount, Ratio};

use super::read::{Located, quantity};

const ONE_SECOND: SignedDuration = SignedDuration::from_secs(1);
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// Parses the usage of cpu and memory. A missing value is as requested.
pub(super) fn load(spot: Spot<'_, '_>, requested: Measure) -> Option<Load> {
    spot.node()?;
    Some(spot.section(|f| Load {
        cpu: curve(f.field("cpu"), "cpu").unwrap_or(Curve::steady(requested.cpu)),
        memory: curve(f.field("memory"), "memory").unwrap_or(Curve::steady(requested.memory)),
    }))
}

fn curve(spot: Spot<'_, '_>, resource: &str) -> Option<Curve> {
    let place = spot.place();
    match &spot.node()?.value {
        Value::Map(_) => spot.section(|f| shaped(f, resource, place)),
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Text(_)
        | Value::List(_) => quantity(spot, resource).map(Curve::steady),
    }
}

fn shaped(f: &mut Fields<'_, '_>, resource: &str, place: Located) -> Option<Curve> {
    let steady = quantity(f.field("steady"), resource).map(Shape::Steady);
    let wave = part(f, "wave", |f| {
        Some(Shape::Wave {
            mean: needed(f, "mean", resource)?,
            swing: needed(f, "swing", resource)?,
            period: f.field("period").duration(ONE_SECOND).unwrap_or(DAY),
            peak: f
                .field("peak")
                .duration(SignedDuration::ZERO)
                .unwrap_or_default(),
        })
    });
    let bursts = part(f, "bursts", |f| {
        let every = f
            .required("every", "the time from one burst to the next, such as 30m")
            .duration(ONE_SECOND);
        let length = f
            .required("for", "the duration of a burst, such as 5m")
            .duration(ONE_SECOND);
        let (base, peak) = (needed(f, "base", resource), needed(f, "peak", resource));
        Some(Shape::Bursts {
            base: base?,
            peak: peak?,
            every: every?,
            length: length?,
        })
    });
    let leak = part(f, "leak", |f| {
        let (base, per_hour) = (needed(f, "base", resource), needed(f, "perHour", resource));
        Some(Shape::Leak {
            base: base?,
            per_hour: per_hour?,
        })
    });
    let noise = f.field("noise").percent().unwrap_or(Ratio::ZERO);
    let given = ["steady", "wave", "bursts", "leak"]
        .iter()
        .filter(|name| f.has(name))
        .count();
    if given != 1 {
        f.complain_at(
            Code::Conflict,
            place,
            "expected exactly one of steady, wave, bursts or leak",
        );
    }
    Some(Curve {
        shape: steady.or(wave).or(bursts).or(leak)?,
        noise,
    })
}

fn part(
    f: &mut Fields<'_, '_>,
    name: &'static str,
    read: impl FnOnce(&mut Fields<'_, '_>) -> Option<Shape>,
) -> Option<Shape> {
    let spot = f.field(name);
    spot.node()?;
    spot.section(read)
}

fn needed(f: &mut Fields<'_, '_>, name: &'static str, resource: &str) -> Option<Amount> {
    quantity(f.required(name, "a quantity"), resource)
}
