// SPDX-License-Identifier: MIT
//! How to make a shared pool, and how to open one.
use super::{SharedPool, nanoseconds};
use crate::error::Error;
use core::ffi::c_uint;
use core::time::Duration;
use eggbox_sys as sys;
use std::ffi::CString;

/// How a process has a pool open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It reads frames, and cannot write to them.
    ReadOnly,
    /// It reads and writes.
    ReadWrite,
}

impl Access {
    pub(super) fn flags(self) -> c_uint {
        match self {
            Access::ReadOnly => sys::EGB_SHARED_READ_ONLY,
            Access::ReadWrite => 0,
        }
    }
}

/// What `alloc` does when no block is free, and no dead process held one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnFull {
    /// It fails.
    #[default]
    Fail,
    /// It waits for so long, and then fails.
    Wait(Duration),
    /// It takes the oldest frame that only the feed holds, or fails.
    DropOldest,
}

/// How to make a [`SharedPool`].
///
/// ```
/// use eggbox::{OnFull, SharedOptions};
///
/// // SAFETY: no other process has this pool, because it has no name.
/// let pool = unsafe {
///     SharedOptions::new(1000, 2).feed(1).on_full(OnFull::DropOldest).about(b"grey").create()?
/// };
/// assert_eq!((pool.about(), pool.frame_bytes()), (&b"grey"[..], 1000));
/// # Ok::<(), eggbox::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct SharedOptions<'a> {
    name: &'a str,
    frame_bytes: usize,
    count: usize,
    feed: usize,
    note_bytes: usize,
    on_full: OnFull,
    permissions: u32,
    flags: c_uint,
    about: &'a [u8],
}

impl<'a> SharedOptions<'a> {
    /// `count` blocks of `frame_bytes` bytes; as many as exist at one time: those in the feed,
    /// those that readers hold, and the one that the writer writes.
    pub fn new(frame_bytes: usize, count: usize) -> Self {
        SharedOptions {
            name: "",
            frame_bytes,
            count,
            feed: 0,
            note_bytes: 0,
            on_full: OnFull::Fail,
            permissions: 0,
            flags: 0,
            about: &[],
        }
    }

    /// The file is `/dev/shm/eggbox-NAME`, or the path `name` if that begins with `/`. Without a
    /// name the descriptor is handed on.
    pub fn name(mut self, name: &'a str) -> Self {
        self.name = name;
        self
    }

    /// How many published frames the feed keeps.
    pub fn feed(mut self, frames: usize) -> Self {
        self.feed = frames;
        self
    }

    /// Bytes that go with each published frame, at most 64.
    pub fn note_bytes(mut self, bytes: usize) -> Self {
        self.note_bytes = bytes;
        self
    }

    /// What `alloc` does when no block is free.
    pub fn on_full(mut self, rule: OnFull) -> Self {
        self.on_full = rule;
        self
    }

    /// The permissions of the named file. 0: those of its owner alone, 0o600.
    pub fn permissions(mut self, mode: u32) -> Self {
        self.permissions = mode;
        self
    }

    /// Maps each page now, so that no access is a page fault later.
    pub fn prefault(mut self) -> Self {
        self.flags |= sys::EGB_SHARED_PREFAULT;
        self
    }

    /// What the frames are, for those who attach: up to 256 bytes.
    pub fn about(mut self, about: &'a [u8]) -> Self {
        self.about = about;
        self
    }

    /// Makes the pool. All its memory is allocated before the call returns.
    ///
    /// # Safety
    ///
    /// Rust gives out references to frames, and cannot see other processes. Of all processes that
    /// have the pool open, in any language: none writes to a frame that it has published or whose
    /// handle it has given away; none writes to memory of the pool that is not a frame of its own.
    /// A pool is therefore for processes that trust each other.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: an option is out of its range, or the name is. [`Error::Busy`]: there is
    /// a living pool, or anything else, of this name. [`Error::Limit`]: more bytes than this
    /// process can address. [`Error::NoMemory`]: /dev/shm is too small, or the system refused.
    pub unsafe fn create(self) -> Result<SharedPool, Error> {
        let name = CString::new(self.name).map_err(|_| Error::Invalid)?;
        let (on_full, wait) = match self.on_full {
            OnFull::Fail => (sys::EGB_SHARED_FAIL, None),
            OnFull::Wait(time) => (sys::EGB_SHARED_WAIT, Some(time)),
            OnFull::DropOldest => (sys::EGB_SHARED_DROP_OLDEST, None),
        };
        let has_about = !self.about.is_empty();
        let options = sys::egb_shared_options {
            name: if self.name.is_empty() { core::ptr::null() } else { name.as_ptr() },
            block_bytes: self.frame_bytes,
            block_align: 0,
            count: self.count,
            feed_count: self.feed,
            note_bytes: self.note_bytes,
            on_full,
            wait_ns: wait.map_or(0, |time| nanoseconds(Some(time))),
            permissions: self.permissions,
            flags: self.flags,
            about: if has_about { self.about.as_ptr().cast() } else { core::ptr::null() },
            about_bytes: self.about.len(),
        };
        // SAFETY: the options are read during the call; the rest is the caller's promise.
        unsafe { SharedPool::opened(|out| sys::egb_shared_create(out, &options)) }
    }
}
