// SPDX-License-Identifier: MIT
//! Compiles the one-file build of the library, src/eggbox.c, which names all other sources.
use std::path::{Path, PathBuf};

/// The folder with the library's `src` and `include`. Systems without symbolic links have the
/// repository's own folders only.
fn library() -> PathBuf {
    ["csrc", "../../.."]
        .iter()
        .map(Path::new)
        .find(|folder| folder.join("src/eggbox.c").is_file())
        .expect("no src/eggbox.c: the package is not complete")
        .to_path_buf()
}

fn main() {
    let library = library();
    let mut build = cc::Build::new();
    build
        .file(library.join("src/eggbox.c"))
        .file("layout.c")
        .include(library.join("include"))
        .std("c11")
        // An enum is a c_uint to Rust; gcc for bare ARM makes it as small as its values are.
        .flag_if_supported("-fno-short-enums")
        .opt_level(2) // in debug builds, too: they check this crate's users, not the library
        .define("NDEBUG", None);
    if std::env::var_os("CARGO_FEATURE_HOSTED").is_none() {
        build.define("EGB_FREESTANDING", "1").flag_if_supported("-ffreestanding");
    }
    build.compile("eggbox");
    println!("cargo::metadata=include={}", library.join("include").display());
    for path in [library.join("src"), library.join("include"), "layout.c".into()] {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}
