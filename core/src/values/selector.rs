//! Label selectors: the text form, the object form and node affinity terms, all as one list of
//! requirements.

use std::collections::BTreeMap;
use std::fmt;

/// The labels of an object.
pub type Labels = BTreeMap<String, String>;

/// Requirements that must all hold. An empty selector matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selector(Vec<Requirement>);

/// A condition on one label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Requirement {
    /// The name of the label.
    pub key: String,
    /// The condition.
    pub test: Test,
}

/// A condition on the value of a label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Test {
    /// Present with one of these values.
    In(Vec<String>),
    /// Absent, or present with none of these values.
    NotIn(Vec<String>),
    /// Present.
    Exists,
    /// Absent.
    Absent,
    /// Present with an integer above this bound. Valid only in node affinity.
    Above(i64),
    /// Present with an integer below this bound. Valid only in node affinity.
    Below(i64),
}

/// One alternative of a required node affinity. Both selectors must match. An empty term matches
/// nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeTerm {
    /// The selector for the labels of the node.
    pub labels: Selector,
    /// The selector for the fields of the node. Kubernetes supports only `metadata.name`.
    pub fields: Selector,
}

/// A selector that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// The text form is invalid from this text on.
    #[error(
        "invalid label selector at {0:?}; expected key=value, key!=value, key in (a,b), key notin \
            (a,b), key or !key"
    )]
    Syntax(String),
    /// The object form has an unknown operator.
    #[error(
        "unknown operator {0:?}; expected In, NotIn, Exists, DoesNotExist, or for nodes Gt or Lt"
    )]
    Operator(String),
    /// The operator does not take this number of values, or not such a value.
    #[error("operator {0} of key {1:?} does not take {2} values")]
    Values(String, String, usize),
}

impl Selector {
    /// Creates a selector from requirements.
    pub const fn new(requirements: Vec<Requirement>) -> Self {
        Selector(requirements)
    }

    /// Returns true if the selector matches everything.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if these labels meet every requirement.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.0.iter().all(|r| r.holds(labels))
    }

    /// Returns the requirements, which must all hold.
    pub fn requirements(&self) -> &[Requirement] {
        &self.0
    }

    /// Adds a requirement.
    pub fn require(&mut self, requirement: Requirement) {
        self.0.push(requirement);
    }

    /// Creates a selector from the object form: `matchLabels`, and `matchExpressions` as (key,
    /// operator, values).
    pub fn from_parts(
        labels: &Labels,
        expressions: impl IntoIterator<Item = (String, String, Vec<String>)>,
    ) -> Result<Self, SelectorError> {
        let mut requirements: Vec<_> = labels
            .iter()
            .map(|(key, value)| Requirement {
                key: key.clone(),
                test: Test::In(vec![value.clone()]),
            })
            .collect();
        for (key, operator, values) in expressions {
            requirements.push(Requirement::from_parts(key, &operator, values)?);
        }
        Ok(Selector(requirements))
    }

    /// Parses the text form of `kubectl -l`.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut rest = text.trim();
        let mut requirements = Vec::new();
        while !rest.is_empty() {
            let (requirement, after) = parse_one(rest)?;
            requirements.push(requirement);
            rest = match after.strip_prefix(',') {
                Some(next) if !next.trim().is_empty() => next.trim_start(),
                None if after.is_empty() => after,
                _ => return Err(SelectorError::Syntax(after.to_owned())),
            };
        }
        Ok(Selector(requirements))
    }
}

impl Requirement {
    /// Creates a requirement from a key, an operator as in the API, and values.
    pub fn from_parts(
        key: String,
        operator: &str,
        values: Vec<String>,
    ) -> Result<Self, SelectorError> {
        let count = values.len();
        let misfit = |key: &String| SelectorError::Values(operator.to_owned(), key.clone(), count);
        let test = match (operator, values.as_slice()) {
            // The API server rejects `In` without values and `Exists` with values.
            ("In", [_, ..]) => Test::In(values),
            ("NotIn", [_, ..]) => Test::NotIn(values),
            ("Exists", []) => Test::Exists,
            ("DoesNotExist", []) => Test::Absent,
            ("Gt", [one]) => Test::Above(one.parse().map_err(|_| misfit(&key))?),
            ("Lt", [one]) => Test::Below(one.parse().map_err(|_| misfit(&key))?),
            ("In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt", _) => {
                return Err(misfit(&key));
            }
            _ => return Err(SelectorError::Operator(operator.to_owned())),
        };
        Ok(Requirement { key, test })
    }

    fn holds(&self, labels: &Labels) -> bool {
        let value = labels.get(&self.key);
        // As in Kubernetes, a label that is no integer fails both Gt and Lt.
        let number = || value.and_then(|v| v.parse::<i64>().ok());
        match &self.test {
            Test::In(values) => value.is_some_and(|v| values.contains(v)),
            Test::NotIn(values) => value.is_none_or(|v| !values.contains(v)),
            Test::Exists => value.is_some(),
            Test::Absent => value.is_none(),
            Test::Above(bound) => number().is_some_and(|n| n > *bound),
            Test::Below(bound) => number().is_some_and(|n| n < *bound),
        }
    }
}

fn parse_one(text: &str) -> Result<(Requirement, &str), SelectorError> {
    let broken = || SelectorError::Syntax(text.to_owned());
    if let Some(negated) = text.strip_prefix('!') {
        let (key, rest) = word(negated.trim_start()).ok_or_else(broken)?;
        return Ok((
            Requirement {
                key,
                test: Test::Absent,
            },
            rest,
        ));
    }
    let (key, rest) = word(text).ok_or_else(broken)?;
    let (wanted, rest) = if let Some(rest) = rest.strip_prefix("!=") {
        let (value, rest) = value(rest);
        (Test::NotIn(vec![value]), rest)
    } else if let Some(rest) = rest.strip_prefix("==").or_else(|| rest.strip_prefix('=')) {
        let (value, rest) = value(rest);
        (Test::In(vec![value]), rest)
    } else if let Some((values, rest)) = listed(rest, "notin") {
        (Test::NotIn(values), rest)
    } else if let Some((values, rest)) = listed(rest, "in") {
        (Test::In(values), rest)
    } else {
        (Test::Exists, rest)
    };
    Ok((Requirement { key, test: wanted }, rest))
}

/// Splits a label name from the text after it.
fn word(text: &str) -> Option<(String, &str)> {
    let end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || "-_./".contains(c)))
        .unwrap_or(text.len());
    (end > 0).then(|| (text[..end].to_owned(), text[end..].trim_start()))
}

/// Splits a label value, which may be empty, from the text after it.
fn value(text: &str) -> (String, &str) {
    let text = text.trim_start();
    word(text).unwrap_or_else(|| (String::new(), text))
}

fn listed<'t>(text: &'t str, operator: &str) -> Option<(Vec<String>, &'t str)> {
    let inside = text
        .strip_prefix(operator)?
        .trim_start()
        .strip_prefix('(')?;
    let (values, rest) = inside.split_once(')')?;
    let values: Vec<_> = values.split(',').map(|v| value(v).0).collect();
    Some((values, rest.trim_start()))
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, Requirement { key, test }) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            match test {
                Test::In(values) if values.len() == 1 => write!(f, "{key}={}", values[0])?,
                Test::In(values) => write!(f, "{key} in ({})", values.join(","))?,
                Test::NotIn(values) if values.len() == 1 => write!(f, "{key}!={}", values[0])?,
                Test::NotIn(values) => write!(f, "{key} notin ({})", values.join(","))?,
                Test::Exists => write!(f, "{key}")?,
                Test::Absent => write!(f, "!{key}")?,
                Test::Above(bound) => write!(f, "{key}>{bound}")?,
                Test::Below(bound) => write!(f, "{key}<{bound}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect()
    }

    #[test]
    fn a_displayed_selector_parses_to_itself() {
        for text in [
            "",
            "a=b",
            "a in (b,c),!d",
            "a!=b,e",
            "a.b/c notin (x,y),f=1",
        ] {
            assert_eq!(Selector::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn each_operator_matches_as_in_kubernetes() {
        let node = labels(&[("zone", "a"), ("cores", "8"), ("empty", "")]);
        for yes in [
            "zone=a",
            "zone==a",
            "zone in (a, b)",
            "zone!=b",
            "gpu!=x",
            "gpu notin (x)",
            "!gpu",
            "zone",
            "empty=",
        ] {
            assert!(Selector::parse(yes).unwrap().matches(&node), "{yes}");
        }
        for no in ["zone=b", "gpu", "!zone", "zone notin (a,b)", "zone=a,gpu"] {
            assert!(!Selector::parse(no).unwrap().matches(&node), "{no}");
        }
        let above = Requirement::from_parts("cores".into(), "Gt", vec!["7".into()]).unwrap();
        assert!(Selector::new(vec![above]).matches(&node));
    }

    #[test]
    fn invalid_selectors_are_rejected() {
        for bad in ["=x", "a=b,", "a b", "a in b", "a in (b", "!", ",a"] {
            assert!(Selector::parse(bad).is_err(), "{bad}");
        }
        assert!(Requirement::from_parts("k".into(), "In", vec![]).is_err());
        assert!(Requirement::from_parts("k".into(), "Like", vec!["x".into()]).is_err());
    }
}
