//! Objects of the API, as facts.
