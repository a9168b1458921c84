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
    /// Present with an integer above this bound. Valid only in text and in node affinity.
    Above(i64),
    /// Present with an integer below this bound. Valid only in text and in node affinity.
    Below(i64),
}

/// One alternative of a required node affinity. Both selectors must match. An empty term matches
/// nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeTerm {
    /// The selector for the labels of the node.
    pub labels: Selector,
    /// The selector for the fields of the node. Kubernetes supports only `metadata.name`.
    pub fields: Selector,
}

/// A selector that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its sentence")]
pub enum SelectorError {
    #[error(
        "invalid label selector at {0:?}; expected key=value, key!=value, key in (a,b), key notin (a,b), key>1, key<1, key or !key"
    )]
    Syntax(String),
    #[error("invalid label selector: {0:?} is not the name of a label")]
    Key(String),
    #[error(
        "invalid label selector: {0:?} is not the value of a label: at most 63 letters, digits, -, _ or ."
    )]
    Value(String),
    #[error(
        "unknown operator {0:?}; expected In, NotIn, Exists, DoesNotExist, or for nodes Gt or Lt"
    )]
    Operator(String),
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

/// The grammar and its checks are those of `labels.Parse` in k8s.io/apimachinery.
fn parse_one(text: &str) -> Result<(Requirement, &str), SelectorError> {
    if let Some(negated) = text.strip_prefix('!') {
        let (key, rest) = key(negated.trim_start(), text)?;
        let absent = Requirement { key, test: Test::Absent };
        return Ok((absent, rest));
    }
    let (key, rest) = key(text, text)?;
    let (wanted, rest) = if let Some(rest) = rest.strip_prefix("!=") {
        let (value, rest) = value(rest)?;
        (Test::NotIn(vec![value]), rest)
    } else if let Some(rest) = rest.strip_prefix("==").or_else(|| rest.strip_prefix('=')) {
        let (value, rest) = value(rest)?;
        (Test::In(vec![value]), rest)
    } else if let Some(above) = rest.strip_prefix('>') {
        let (bound, rest) = bound(above, rest)?;
        (Test::Above(bound), rest)
    } else if let Some(below) = rest.strip_prefix('<') {
        let (bound, rest) = bound(below, rest)?;
        (Test::Below(bound), rest)
    } else if let Some((values, rest)) = listed(rest, "notin") {
        (Test::NotIn(whole_values(values)?), rest)
    } else if let Some((values, rest)) = listed(rest, "in") {
        (Test::In(whole_values(values)?), rest)
    } else {
        (Test::Exists, rest)
    };
    Ok((Requirement { key, test: wanted }, rest))
}

/// Splits a word of a label from the text after it.
fn word(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || "-_./".contains(c)))
        .unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// Splits a label name from the text after it. Without one, `requirement` is what cannot be parsed.
fn key<'t>(text: &'t str, requirement: &str) -> Result<(String, &'t str), SelectorError> {
    match word(text) {
        ("", _) => Err(SelectorError::Syntax(requirement.to_owned())),
        (key, rest) if is_label_key(key) => Ok((key.to_owned(), rest)),
        (other, _) => Err(SelectorError::Key(other.to_owned())),
    }
}

/// Splits a label value, which may be empty, from the text after it.
fn value(text: &str) -> Result<(String, &str), SelectorError> {
    let (value, rest) = word(text.trim_start());
    if is_label_value(value) {
        Ok((value.to_owned(), rest))
    } else {
        Err(SelectorError::Value(value.to_owned()))
    }
}

/// Splits an integer from the text after it. `comparison` also has the operator.
fn bound<'t>(text: &'t str, comparison: &str) -> Result<(i64, &'t str), SelectorError> {
    let (value, rest) = value(text)?;
    match value.parse() {
        Ok(bound) => Ok((bound, rest)),
        Err(_) => Err(SelectorError::Syntax(comparison.to_owned())),
    }
}

/// Splits the text between parentheses from the text after it.
fn listed<'t>(text: &'t str, operator: &str) -> Option<(&'t str, &'t str)> {
    let inside = text.strip_prefix(operator)?.trim_start().strip_prefix('(')?;
    let (values, rest) = inside.split_once(')')?;
    Some((values, rest.trim_start()))
}

/// Label values between commas, and nothing else.
fn whole_values(values: &str) -> Result<Vec<String>, SelectorError> {
    let whole = |text| match value(text)? {
        (value, "") => Ok(value),
        (_, rest) => Err(SelectorError::Syntax(rest.to_owned())),
    };
    values.split(',').map(whole).collect()
}

/// Whether this is the name of a label: a name, with an optional DNS domain before a slash
/// (`IsQualifiedName` in k8s.io/apimachinery).
pub fn is_label_key(key: &str) -> bool {
    let (domain, name) =
        key.split_once('/').map_or((None, key), |(domain, name)| (Some(domain), name));
    !name.is_empty() && is_label_value(name) && domain.is_none_or(is_domain)
}

fn is_domain(domain: &str) -> bool {
    let is_part = |part: &str| {
        let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !part.is_empty()
            && part.chars().all(inside)
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    domain.len() <= 253 && domain.split('.').all(is_part)
}

/// Whether this is the value of a label, which may be empty.
pub fn is_label_value(value: &str) -> bool {
    let ends = value.starts_with(|c: char| c.is_ascii_alphanumeric())
        && value.ends_with(|c: char| c.is_ascii_alphanumeric());
    value.is_empty()
        || ends
            && value.len() <= 63
            && value.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
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
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn a_displayed_selector_parses_to_itself() {
        for text in ["", "a=b", "a in (b,c),!d", "a!=b,e", "a.b/c notin (x,y),f=1", "a>5,b<0"] {
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
            "empty in ()",
            "zone in (,a)",
            "cores > 7",
            "cores<9",
        ] {
            assert!(Selector::parse(yes).unwrap().matches(&node), "{yes}");
        }
        for no in [
            "zone=b",
            "gpu",
            "!zone",
            "zone notin (a,b)",
            "zone=a,gpu",
            "cores>8",
            "cores<8",
            "gpu<8",
            "zone>1",
        ] {
            assert!(!Selector::parse(no).unwrap().matches(&node), "{no}");
        }
        let above = Requirement::from_parts("cores".into(), "Gt", vec!["7".into()]).unwrap();
        assert!(Selector::new(vec![above]).matches(&node));
    }

    #[test]
    fn invalid_selectors_are_rejected() {
        for bad in [
            "=x", "a=b,", "a b", "a in b", "a in (b", "!", ",a", "a>", "a<b", "a>1.5", "a>-1",
            "a>=1",
        ] {
            assert!(Selector::parse(bad).is_err(), "{bad}");
        }
        assert!(Requirement::from_parts("k".into(), "In", vec![]).is_err());
        assert!(Requirement::from_parts("k".into(), "Like", vec!["x".into()]).is_err());
    }

    #[test]
    fn a_list_in_parentheses_has_only_values_between_commas() {
        for (bad, at) in [
            ("pool notin (gpu cpu)", "cpu"),
            ("pool in (gpu;cpu)", ";cpu"),
            ("pool in (gpu|cpu)", "|cpu"),
            ("pool notin (\"gpu\",\"cpu\")", "\"gpu\""),
            ("pool in ('a')", "'a'"),
            ("pool in (a=b)", "=b"),
            ("pool in (a(b)", "(b"),
        ] {
            let error = SelectorError::Syntax(at.to_owned());
            assert_eq!(Selector::parse(bad), Err(error), "{bad}");
        }
    }

    #[test]
    fn keys_and_values_must_be_those_of_labels() {
        let long = "a".repeat(64);
        for bad in ["-a=b", "a-=b", "/z=b", "z/=b", "a/b/c=d", "X.Y/z", "x_y/z", "a..b/c", "!-a"]
            .into_iter()
            .map(str::to_owned)
            .chain([format!("{long}=b"), format!("{}/b", "a".repeat(254))])
        {
            let error = Selector::parse(&bad);
            assert!(matches!(error, Err(SelectorError::Key(_))), "{bad}");
        }
        for bad in [
            "pool!=gpu/a100",
            "pool=a/b",
            "a=b.",
            "a=-b",
            "a in (b,c/d)",
            "a>5.",
            &format!("a={long}"),
        ] {
            let error = Selector::parse(bad);
            assert!(matches!(error, Err(SelectorError::Value(_))), "{bad}");
        }
        assert!(Selector::parse("node.kubernetes.io/a_B.c=A-1_b.C").is_ok());
    }
}
