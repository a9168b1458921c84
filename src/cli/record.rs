//! Where the record goes, by flags of `evenkeel run`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use reqwest::Url;

use crate::daemon::record::RecordSettings;
use crate::daemon::record::http_sink::{BodyFormat, HttpSink};
use crate::daemon::record::sink::Sink;

use super::{Misuse, parse};

/// Flags for the record, which is off unless there is a sink.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Record")]
pub(super) struct RecordFlags {
    /// Write one line of JSON for each eviction, refusal and outcome to the end of this file, to
    /// standard output if it is `-`, or to this URL by a POST request for each line [default: off]
    #[arg(long, value_name = "FILE|-|URL", env = "EVENKEEL_RECORD", hide_env_values = true)]
    record: Option<String>,
    /// Body of the requests to a URL: a CloudEvent, or `{"text": "…"}` with one sentence, as
    /// webhooks of chats take it [default: cloud-event]
    #[arg(long, value_name = "FORMAT", value_enum)]
    record_format: Option<RecordFormat>,
    /// File with a token for the URL, read for every request
    #[arg(long, value_name = "FILE")]
    record_bearer_token_file: Option<PathBuf>,
    /// Trust the certificate authorities in this PEM file [default: those of the system]
    #[arg(long, value_name = "FILE")]
    record_ca_file: Option<PathBuf>,
    /// The `source` of the lines; names this cluster among others, such as evenkeel/prod
    #[arg(
        long,
        value_name = "NAME",
        default_value = "evenkeel",
        value_parser = parse::source
    )]
    record_source: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RecordFormat {
    CloudEvent,
    Text,
}

impl RecordFlags {
    /// Returns the settings of the record; `None` if it is off. Creates the file.
    pub(super) fn settings(&self) -> anyhow::Result<Option<RecordSettings>> {
        // An empty environment variable counts as unset.
        let Some(target) = self.record.as_deref().filter(|text| !text.is_empty()) else {
            self.refuse("there is no --record")?;
            return Ok(None);
        };
        let sink = if target.starts_with("http://") || target.starts_with("https://") {
            self.http(target)?
        } else {
            self.refuse("--record is no URL")?;
            if target == "-" {
                Sink::standard_output()
            } else {
                let sink = Sink::file(Path::new(target));
                sink.map_err(|error| anyhow::anyhow!("--record: {error}"))?
            }
        };
        let source = self.record_source.clone();
        Ok(Some(RecordSettings { source, sink }))
    }

    /// The URL may be a secret, so the error does not repeat it.
    fn http(&self, target: &str) -> Result<Sink, Misuse> {
        let url = Url::parse(target).map_err(|error| Misuse(format!("--record: {error}")))?;
        let format = match self.record_format {
            Some(RecordFormat::Text) => BodyFormat::Text,
            Some(RecordFormat::CloudEvent) | None => BodyFormat::CloudEvent,
        };
        let (token, ca) = (&self.record_bearer_token_file, &self.record_ca_file);
        let sink = HttpSink::new(url, format, token.clone(), ca.clone());
        Ok(Sink::Http(Box::new(sink)))
    }

    /// Refuses flags that only a URL has.
    fn refuse(&self, why: &str) -> Result<(), Misuse> {
        let given = [
            ("--record-format", self.record_format.is_some()),
            ("--record-bearer-token-file", self.record_bearer_token_file.is_some()),
            ("--record-ca-file", self.record_ca_file.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((flag, _)) => Err(Misuse(format!("{flag}: needs a URL, and {why}"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Flags {
        #[command(flatten)]
        record: RecordFlags,
    }

    fn settings(line: &str) -> Result<Option<RecordSettings>, String> {
        let flags = Flags::try_parse_from(line.split(' ')).unwrap();
        flags.record.settings().map_err(|error| error.to_string())
    }

    #[test]
    fn the_record_is_off_by_default() {
        assert!(settings("run").unwrap().is_none());
        assert!(settings("run --record=").unwrap().is_none());
    }

    #[test]
    fn a_source_that_is_not_part_of_a_uri_is_refused() {
        for source in ["", "our prod", "prod\n"] {
            let line = ["run", "--record-source", source];
            let error = Flags::try_parse_from(line).unwrap_err().to_string();
            assert!(error.contains("expected a name such as"), "{error}");
        }
    }

    #[test]
    fn the_target_selects_the_sink() {
        let sink = |line: &str| settings(line).unwrap().unwrap().sink;
        assert!(matches!(sink("run --record -"), Sink::Output(_)));
        assert!(matches!(sink("run --record /dev/null"), Sink::File(_)));
        assert!(matches!(
            sink("run --record https://h/x --record-format text --record-ca-file f"),
            Sink::Http(_)
        ));
    }

    #[test]
    fn flags_without_effect_are_refused() {
        let error = |line: &str| settings(line).err().unwrap();
        assert_eq!(
            error("run --record - --record-format text"),
            "--record-format: needs a URL, and --record is no URL"
        );
        assert_eq!(
            error("run --record-bearer-token-file f"),
            "--record-bearer-token-file: needs a URL, and there is no --record"
        );
        let secret = error("run --record https://:secret");
        assert!(!secret.contains("secret"), "{secret}");
    }
}
