// SPDX-License-Identifier: MIT
//! The C library eggbox as it is. `include/eggbox/*.h` says all that each call promises; the crate
//! `eggbox` has safe types.
//!
//! The functions ending in an underscore are not part of the library's interface. This crate
//! carries the sources of the same version, and may therefore call them.
#![no_std]
#![allow(non_camel_case_types, missing_docs)]

mod core_part;
pub use core_part::*;

#[cfg(feature = "hosted")]
mod hosted;
#[cfg(feature = "hosted")]
pub use hosted::*;
#[cfg(feature = "hosted")]
mod shared;
#[cfg(feature = "hosted")]
pub use shared::*;

#[cfg(not(feature = "hosted"))]
mod misuse;
#[cfg(not(feature = "hosted"))]
pub use misuse::*;
