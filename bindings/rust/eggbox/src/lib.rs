// SPDX-License-Identifier: MIT
//! Memory pools: blocks of one size, taken and given back in constant time, by a library in C that
//! checks each free.
//!
//! | type | is | threads |
//! |---|---|---|
//! | [`FixedPool`] | `N` values in one object, no heap, `no_std` | one at a time |
//! | [`Pool`] | grows; has a name, a limit, a budget, a parent, statistics | any |
//! | [`Heap`] | a global allocator, any size | any |
//! | [`SharedPool`] | frames of bytes between processes; Linux | any |
//!
//! A value in a pool is a [`Boxed`]: it owns the value, and drops it and gives the block back at
//! its end.
//!
//! ```
//! # #[cfg(feature = "hosted")] fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let sessions = eggbox::Pool::new()?;
//! let mut session = sessions.alloc(String::from("new")).unwrap();
//! session.push_str(" user");
//! assert_eq!(*session, "new user");
//! # Ok(()) }
//! # #[cfg(not(feature = "hosted"))] fn main() {}
//! ```
//!
//! The feature `hosted` is on by default. Without it the crate is [`FixedPool`] alone, and needs
//! no `std`. The build compiles C: gcc or clang is needed.
#![no_std]

/// The example of the README is a test, too.
#[cfg(all(doctest, feature = "hosted"))]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(feature = "hosted")]
extern crate std;

mod boxed;
mod error;
mod fixed;
mod misuse;

pub use boxed::Boxed;
pub use error::{Error, Full};
pub use fixed::{FixedBox, FixedPool};
pub use misuse::{Misuse, MisuseKind, on_misuse};

#[cfg(feature = "hosted")]
mod heap;
#[cfg(feature = "hosted")]
mod pool;
#[cfg(all(feature = "hosted", target_os = "linux"))]
mod shared;
#[cfg(feature = "hosted")]
mod stats;

#[cfg(feature = "hosted")]
pub use heap::Heap;
#[cfg(feature = "hosted")]
pub use pool::{Level, OwnedBox, Pool, PoolBox, PoolOptions};
#[cfg(all(feature = "hosted", target_os = "linux"))]
pub use shared::{
    Access, Frame, Handle, OnFull, SharedOptions, SharedPool, SharedStats, Unpublished, View,
};
#[cfg(feature = "hosted")]
pub use stats::{HeapStats, PoolStats};
