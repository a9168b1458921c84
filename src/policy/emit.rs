pub(super) fn policy(_: &super::Policy) -> String {
    String::new()
}
