//! Files of recorded usage that a scenario names.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::simulate::rows::UsageRows;

/// Returns the text of a file, or why it cannot be read.
type OpenFile<'f> = &'f dyn Fn(&str) -> Result<String, String>;

/// The files read so far. Many workloads share one file.
pub(super) struct Files<'f> {
    open: OpenFile<'f>,
    known: BTreeMap<String, Result<Arc<UsageRows>, String>>,
}

impl<'f> Files<'f> {
    pub(super) const fn new(open: OpenFile<'f>) -> Self {
        Files { open, known: BTreeMap::new() }
    }

    /// Returns the rows of a file, or its error.
    pub(super) fn rows(&mut self, name: &str) -> Result<Arc<UsageRows>, String> {
        let open = self.open;
        let read = || {
            let text = open(name)?;
            let rows = UsageRows::parse(&text).map_err(|problem| problem.to_string())?;
            Ok(Arc::new(rows))
        };
        let known = self.known.entry(name.to_owned());
        known.or_insert_with(read).clone()
    }
}
