// SPDX-License-Identifier: MIT
//! Why a call failed.
use core::fmt;
#[cfg(feature = "hosted")]
use eggbox_sys as sys;

/// Why a call failed. On any error nothing was changed and nothing is left behind.
///
/// ```
/// use eggbox::Error;
/// assert!(Error::Limit.to_string().contains("raise the limit"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Error {
    /// An argument can never work.
    Invalid,
    /// The system refused memory, or a file.
    NoMemory,
    /// More than this pool, its ancestors, or the library can hold.
    Limit,
    /// The pool, or the frame, is gone.
    Stale,
    /// Nothing came in time, or something in use stands in the way.
    Busy,
    /// Bytes of the pool were overwritten.
    Corrupt,
    /// Not on this system, or not for this pool.
    Unsupported,
}

impl Error {
    /// `Ok` for `EGB_OK`.
    #[cfg(feature = "hosted")]
    pub(crate) fn check(status: sys::egb_status) -> Result<(), Error> {
        match status {
            sys::EGB_OK => Ok(()),
            sys::EGB_NO_MEMORY => Err(Error::NoMemory),
            sys::EGB_LIMIT => Err(Error::Limit),
            sys::EGB_STALE => Err(Error::Stale),
            sys::EGB_BUSY => Err(Error::Busy),
            sys::EGB_CORRUPT => Err(Error::Corrupt),
            sys::EGB_UNSUPPORTED => Err(Error::Unsupported),
            _ => Err(Error::Invalid),
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Error::Invalid => {
                "invalid argument: compare it with the bounds in the call's documentation"
            }
            Error::NoMemory => "the system refused memory: ask for less, or make /dev/shm larger",
            Error::Limit => {
                "more than the pool may hold: raise the limit or budget of the pool or its parents"
            }
            Error::Stale => "the pool or frame is gone: open it anew, or go on to the next frame",
            Error::Busy => {
                "not available now: wait longer, or drop values and frames that are in use"
            }
            Error::Corrupt => "the pool was overwritten or its file cut short: make a new one",
            Error::Unsupported => {
                "not supported on this system or for this pool: leave the option out"
            }
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.advice())
    }
}

impl core::error::Error for Error {}

/// A pool had no block for this value, which comes back to the caller.
///
/// ```
/// let pool = eggbox::FixedPool::<u32, 1>::new();
/// let first = pool.alloc(1).unwrap();
/// let refused = pool.alloc(2).unwrap_err();
/// assert_eq!(refused.0, 2);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Full<T>(pub T);

impl<T> fmt::Debug for Full<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Full(..)")
    }
}

impl<T> fmt::Display for Full<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the pool has no free block: drop values, or make it or its limits larger")
    }
}

impl<T> core::error::Error for Full<T> {}
