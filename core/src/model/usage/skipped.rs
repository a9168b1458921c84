//! Samples that could not be read: their number, and some of them as examples.

use crate::model::snapshot::facts::Skipped;

/// The most examples that are kept. A source may answer with any number of invalid samples.
const MOST_EXAMPLES: usize = 50;
/// The most characters of a name or a reason, which may quote what the source has sent.
const LONGEST_TEXT: usize = 300;

/// Samples that could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkippedSamples {
    examples: Vec<Skipped>,
    count: usize,
}

impl SkippedSamples {
    /// Counts a sample, and keeps it if it is one of the first.
    pub fn add(&mut self, mut skipped: Skipped) {
        self.count += 1;
        if self.examples.len() < MOST_EXAMPLES {
            for text in [&mut skipped.namespace, &mut skipped.name, &mut skipped.why] {
                shorten(text);
            }
            self.examples.push(skipped);
        }
    }

    /// Adds the samples of another answer.
    pub fn join(&mut self, other: Self) {
        let more = other.count - other.examples.len();
        other.examples.into_iter().for_each(|s| self.add(s));
        self.count += more;
    }

    /// Returns the number of samples.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Returns the first samples.
    pub fn examples(&self) -> &[Skipped] {
        &self.examples
    }

    /// Returns the first samples as a list, whose last item tells how many are left out.
    pub fn into_list(self) -> Vec<Skipped> {
        let (mut list, more) = (self.examples, self.count);
        let more = more - list.len();
        if let Some(last) = list.last_mut().filter(|_| more > 0) {
            last.why = format!("{} (and {more} more samples)", last.why);
        }
        list
    }
}

impl FromIterator<Skipped> for SkippedSamples {
    fn from_iter<I: IntoIterator<Item = Skipped>>(all: I) -> Self {
        let mut samples = SkippedSamples::default();
        all.into_iter().for_each(|skipped| samples.add(skipped));
        samples
    }
}

fn shorten(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(LONGEST_TEXT) {
        text.truncate(end);
        text.push('…');
        text.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skipped(name: String) -> Skipped {
        Skipped {
            kind: "PodMetrics".to_owned(),
            namespace: String::new(),
            name,
            node: None,
            why: "é".repeat(1000),
        }
    }

    #[test]
    fn many_invalid_samples_are_counted_and_few_are_kept() {
        let all = || (0..1000).map(|i| skipped(i.to_string()));
        let mut samples: SkippedSamples = all().collect();
        samples.join(all().collect());
        assert_eq!(samples.count(), 2000);
        assert_eq!(samples.examples().len(), MOST_EXAMPLES);
        assert!(samples.examples().iter().all(|s| s.why.len() < 700));
        let list = samples.into_list();
        assert!(list[49].to_string().ends_with("… (and 1950 more samples)"));
    }

    #[test]
    fn a_few_invalid_samples_are_kept_as_they_are() {
        let samples: SkippedSamples = [skipped("web".to_owned())].into_iter().collect();
        assert_eq!(samples.count(), 1);
        let list = samples.into_list();
        assert_eq!((list.len(), list[0].name.as_str()), (1, "web"));
        assert!(!list[0].why.ends_with("samples)"));
    }
}
