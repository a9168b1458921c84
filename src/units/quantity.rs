//! Kubernetes quantities, exactly. STUB, to be replaced by the branch `quantity`.
#![expect(missing_docs, reason = "stub")]
use super::Amount;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("found {0:?}, expected a quantity such as 100m, 1.5 or 2Gi")]
pub struct QuantityError(String);

pub fn amount(resource: &str, text: &str) -> Result<Amount, QuantityError> {
    let bad = || QuantityError(text.to_owned());
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-')).unwrap_or(text.len());
    let number: f64 = text[..end].parse().map_err(|_| bad())?;
    let factor = match &text[end..] {
        "" => 1.0,
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "Ki" => 1024.0,
        "Mi" => 1048576.0,
        "Gi" => 1073741824.0,
        "Ti" => 1099511627776.0,
        _ => return Err(bad()),
    };
    if number < 0.0 {
        return Err(bad());
    }
    Ok(Amount::from_f64((number * factor * if resource == "cpu" { 1e9 } else { 1.0 }).ceil()))
}
