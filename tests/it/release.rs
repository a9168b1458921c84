//! The scripts of a release, run on a prepared copy of the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

const SCRIPTS: &str = ".github/release";
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A copy of the files that the scripts read, with a changelog of two versions.
fn copy(name: &str) -> PathBuf {
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("release-{name}"));
    let _ = fs::remove_dir_all(&copy);
    for file in [
        "Cargo.toml",
        "LICENSE",
        "README.md",
        "deploy/base/deployment.yaml",
        "deploy/helm/evenkeel/Chart.yaml",
        ".github/release/archive.sh",
        ".github/release/check.sh",
        ".github/release/krew.sh",
        ".github/release/notes.sh",
    ] {
        let to = copy.join(file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(root().join(file), to).unwrap();
    }
    let changelog = format!(
        "# Changelog\n\n## [Unreleased]\n\n- later\n\n## [{VERSION}] - 2026-12-01\n\n- now\n\n\
         ## [0.0.1] - 2026-01-01\n\n- before\n"
    );
    fs::write(copy.join("CHANGELOG.md"), changelog).unwrap();
    copy
}

/// Runs a script and returns its output, or its error if it fails.
fn run(copy: &Path, script: &str, args: &[&str]) -> Result<String, String> {
    let mut command = Command::new(copy.join(SCRIPTS).join(script));
    let output = command.args(args).current_dir(copy).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim().to_owned();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

#[test]
fn a_tag_is_released_only_if_every_file_has_its_version() {
    let copy = copy("check");
    let tag = format!("v{VERSION}");
    assert_eq!(run(&copy, "check.sh", &[&tag]).unwrap(), VERSION);
    let error = run(&copy, "check.sh", &["v9.9.9"]).unwrap_err();
    assert!(error.contains("tag v9.9.9"), "{error}");

    let chart = copy.join("deploy/helm/evenkeel/Chart.yaml");
    let other = fs::read_to_string(&chart).unwrap();
    let other = other.replace(&format!("appVersion: {VERSION}"), "appVersion: 9.9.9");
    fs::write(&chart, other).unwrap();
    let error = run(&copy, "check.sh", &[&tag]).unwrap_err();
    assert!(error.contains("another appVersion"), "{error}");
}

#[test]
fn the_notes_are_the_section_of_the_version() {
    let copy = copy("notes");
    assert_eq!(run(&copy, "notes.sh", &[VERSION]).unwrap(), "- now");
    let error = run(&copy, "notes.sh", &["9.9.9"]).unwrap_err();
    assert!(error.contains("no section for 9.9.9"), "{error}");
}

#[test]
fn the_krew_manifest_has_the_checksum_of_each_platform() {
    let copy = copy("krew");
    let targets = [
        ("linux", "amd64", "x86_64-unknown-linux-musl"),
        ("linux", "arm64", "aarch64-unknown-linux-musl"),
        ("darwin", "amd64", "x86_64-apple-darwin"),
        ("darwin", "arm64", "aarch64-apple-darwin"),
    ];
    let sum = |target: &str| format!("sum-of-{target}");
    let lines = targets.map(|(.., target)| {
        let sum = sum(target);
        format!("{sum}  evenkeel-v1.2.3-{target}.tar.gz\n")
    });
    let sums = copy.join("sums");
    fs::write(&sums, lines.concat()).unwrap();
    let manifest = run(&copy, "krew.sh", &["1.2.3", sums.to_str().unwrap()]).unwrap();
    let manifest: Value = serde_saphyr::from_str(&manifest).unwrap();
    assert_eq!(manifest["kind"], "Plugin");
    assert_eq!(manifest["spec"]["version"], "v1.2.3");
    let platforms = manifest["spec"]["platforms"].as_array().unwrap();
    assert_eq!(platforms.len(), targets.len());
    for (platform, (os, arch, target)) in platforms.iter().zip(targets) {
        let labels = &platform["selector"]["matchLabels"];
        assert_eq!(labels, &json!({"os": os, "arch": arch}));
        assert_eq!(platform["sha256"], sum(target));
        let end = format!("/v1.2.3/evenkeel-v1.2.3-{target}.tar.gz");
        assert!(platform["uri"].as_str().unwrap().ends_with(&end));
    }

    fs::write(&sums, &lines[0]).unwrap();
    let error = run(&copy, "krew.sh", &["1.2.3", sums.to_str().unwrap()]).unwrap_err();
    assert!(error.contains("no checksum"), "{error}");
}

#[test]
fn an_archive_has_the_program_its_manual_and_its_completions() {
    let copy = copy("archive");
    // A stand-in for the program keeps the archive small.
    let program = copy.join("program");
    let text = format!("#!/bin/sh\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_evenkeel"));
    fs::write(&program, text).unwrap();
    let mode = Command::new("chmod").arg("+x").arg(&program).status();
    assert!(mode.unwrap().success());
    let (program, out) = (program.to_str().unwrap(), copy.join("out"));
    let args = ["1.2.3", "some-target", program, out.to_str().unwrap()];
    let archive = run(&copy, "archive.sh", &args).unwrap();
    assert!(archive.ends_with("out/evenkeel-v1.2.3-some-target.tar.gz"));

    let list = Command::new("tar").args(["-tzf", &archive]).output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    let names: Vec<&str> = list.lines().collect();
    for name in [
        "LICENSE",
        "README.md",
        "evenkeel",
        "man/evenkeel.1",
        "man/evenkeel-plan.1",
        "completions/evenkeel.bash",
        "completions/evenkeel.zsh",
        "completions/evenkeel.fish",
    ] {
        assert!(names.contains(&name), "no {name} in {names:?}");
    }
}
