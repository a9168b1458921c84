use insta::assert_snapshot;

use super::*;
