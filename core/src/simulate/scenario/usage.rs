//! Parsing of the usage of pods: a quantity such as `1500m`, a curve, or a recording in a file.

use jiff::SignedDuration;

use crate::model::usage::Measure;
use crate::schema::problem::Code;
use crate::schema::read::{Fields, Place, Spot};
use crate::schema::tree::Value;
use crate::simulate::load::{Curve, Load, Shape};
use crate::values::{Amount, Ratio};

use super::fields::quantity;
use super::files::Files;

const ONE_SECOND: SignedDuration = SignedDuration::from_secs(1);
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// Parses the usage of cpu and memory. A missing value is as requested.
pub(super) fn load(spot: Spot<'_, '_>, requested: Measure, files: &mut Files<'_>) -> Option<Load> {
    spot.node()?;
    Some(spot.section(|f| Load {
        cpu: curve(f.field("cpu"), "cpu", files).unwrap_or(Curve::steady(requested.cpu)),
        memory:
            curve(f.field("memory"), "memory", files).unwrap_or(Curve::steady(requested.memory)),
    }))
}

fn curve(spot: Spot<'_, '_>, resource: &str, files: &mut Files<'_>) -> Option<Curve> {
    let place = spot.place();
    if matches!(spot.node()?.value, Value::Map(_)) {
        spot.section(|f| shaped(f, resource, &place, files))
    } else {
        quantity(spot, resource).map(Curve::steady)
    }
}

fn shaped(
    f: &mut Fields<'_, '_>,
    resource: &str,
    place: &Place,
    files: &mut Files<'_>,
) -> Option<Curve> {
    let steady = quantity(f.field("steady"), resource).map(Shape::Steady);
    let wave = part(f, "wave", |f| {
        Some(Shape::Wave {
            mean: needed(f, "mean", resource)?,
            swing: needed(f, "swing", resource)?,
            period: f.field("period").duration(ONE_SECOND).unwrap_or(DAY),
            peak: f.field("peak").duration(SignedDuration::ZERO).unwrap_or_default(),
        })
    });
    let bursts = part(f, "bursts", |f| {
        let every = f
            .required("every", "the time from one burst to the next, such as 30m")
            .duration(ONE_SECOND);
        let length = f.required("for", "the duration of a burst, such as 5m").duration(ONE_SECOND);
        let (base, peak) = (needed(f, "base", resource), needed(f, "peak", resource));
        Some(Shape::Bursts { base: base?, peak: peak?, every: every?, length: length? })
    });
    let leak = part(f, "leak", |f| {
        let (base, per_hour) = (needed(f, "base", resource), needed(f, "perHour", resource));
        Some(Shape::Leak { base: base?, per_hour: per_hour? })
    });
    let trace = part(f, "trace", |f| trace(f, resource, files));
    let noise = f.field("noise").percent().unwrap_or(Ratio::ZERO);
    let given =
        ["steady", "wave", "bursts", "leak", "trace"].iter().filter(|name| f.has(name)).count();
    if given != 1 {
        f.complain_at(
            Code::Conflict,
            place,
            "expected exactly one of steady, wave, bursts, leak or trace",
        );
    }
    Some(Curve { shape: steady.or(wave).or(bursts).or(leak).or(trace)?, noise })
}

/// Parses a recording. The first pod has the row `row`, and each other pod the row after it.
fn trace(f: &mut Fields<'_, '_>, resource: &str, files: &mut Files<'_>) -> Option<Shape> {
    let file = f.required("file", "the name of a file, such as day.csv");
    let (file_place, name) = (file.place(), file.name());
    let start = f.field("row");
    let (row_place, row) = (start.place(), start.whole(0).unwrap_or(0));
    let row = usize::try_from(row).unwrap_or(usize::MAX);
    let step =
        f.required("step", "the time from one value to the next, such as 5m").duration(ONE_SECOND);
    let unit = needed(f, "unit", resource);
    let rows = match files.rows(name.as_deref()?) {
        Ok(rows) => rows,
        Err(why) => {
            let file = name.unwrap_or_default();
            f.complain_at(Code::WrongType, &file_place, format!("{file}: {why}"));
            return None;
        }
    };
    let count = rows.count();
    if row >= count {
        let sentence = format!("found {row}, expected a row below {count}, the rows of the file");
        f.complain_at(Code::OutOfRange, &row_place, sentence);
        return None;
    }
    Some(Shape::Trace { rows, row, step: step?, unit: unit? })
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
