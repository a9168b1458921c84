//! The arguments of highNodeUtilization.

use super::{BASES_AGAIN, evictable_namespaces};
use crate::policy::levels::{THRESHOLDS, thresholds};
use crate::policy::{Basis, HighNodeUtilization, Names};
use crate::schema::kind::{Choice, choice, choices, whole};
use crate::schema::problem::Code;
use crate::schema::read::Fields;
use crate::schema::section::Section;

const EVICTION_MODES: [Choice<()>; 1] = [("OnlyThresholdingResources", (), "")];

/// Declares the part of highNodeUtilization that descheduler has as well.
pub(in crate::policy) fn emptying(
    section: Section<HighNodeUtilization>,
) -> Section<HighNodeUtilization> {
    section
        .field("thresholds", thresholds(), |r| &mut r.thresholds)
        .help("A node at or below all of these is emptied if all its pods fit elsewhere.")
        .required(THRESHOLDS)
        .shown_as("{cpu: 20%, memory: 20%}")
        .field("numberOfNodes", whole(0), |r| &mut r.number_of_nodes)
        .help("Act only if more nodes than this are below their thresholds.")
        .computed(
            "evictionModes",
            choices("eviction modes", &EVICTION_MODES),
            |r| {
                if r.only_thresholding_resources { vec![()] } else { Vec::new() }
            },
            |r, modes| r.only_thresholding_resources = !modes.is_empty(),
        )
        .help("Move only pods that request a resource with a threshold.")
        .off("[OnlyThresholdingResources]")
}

/// The arguments of highNodeUtilization that no file gives.
pub(in crate::policy) fn high_defaults(basis: Basis) -> HighNodeUtilization {
    HighNodeUtilization {
        basis,
        thresholds: Vec::new(),
        ceilings: HighNodeUtilization::default_ceilings(),
        number_of_nodes: 0,
        only_thresholding_resources: false,
        evictable_namespaces: Names::ALL,
    }
}

/// Declares highNodeUtilization.
pub(in crate::policy) fn high(basis: Basis) -> Section<HighNodeUtilization> {
    let section = Section::new(high_defaults(basis))
        .field("basis", choice(&BASES_AGAIN), |r| &mut r.basis)
        .help("The usage that this strategy compares; the default is `basis` above.")
        .always_written();
    let section = emptying(section).field("ceilings", thresholds(), |r| &mut r.ceilings).help(
        "The highest actual usage to which nodes are filled, regardless of `basis`. A target of lowNodeUtilization is a ceiling too, by usage or requests, because that strategy would empty the node again; one that is a deviation from the mean is none. Only cpu and memory.",
    );
    evictable_namespaces(section, |r| &mut r.evictable_namespaces)
        .off("{exclude: [kube-system]}")
        .check(check_ceilings)
}

fn check_ceilings(f: &mut Fields<'_, '_>, rule: &mut HighNodeUtilization) {
    let measured = ["cpu", "memory"];
    for (name, _) in rule.ceilings.iter().filter(|(name, _)| !measured.contains(&name.as_str())) {
        let sentence =
            format!("found {name}, expected cpu and memory: the usage of others is not measured");
        f.complain(Code::Unsupported, "ceilings", sentence);
    }
}
