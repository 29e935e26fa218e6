// SPDX-License-Identifier: MIT
//! Frames between processes.
mod frame;
mod options;

pub use frame::{Frame, Handle, Unpublished, View};
pub use options::{Access, OnFull, SharedOptions};

use crate::error::Error;
use core::ptr::NonNull;
use core::time::Duration;
use eggbox_sys as sys;
use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;

/// The pool as this process has it open; closed with the last frame, view and share of it.
#[derive(Debug)]
struct Open {
    shared: NonNull<sys::egb_shared>,
    block_bytes: usize,
    note_bytes: usize,
}

// SAFETY: any thread may make any call at any time, and close is the last: it is in drop().
unsafe impl Send for Open {}
// SAFETY: as for Send.
unsafe impl Sync for Open {}

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: no frame and no view is left: each has a share.
        unsafe { sys::egb_shared_close(self.shared.as_ptr()) };
    }
}

/// Blocks of one size in memory that several processes map. A process writes a frame once, where it
/// stays, and publishes it; the others read it there. What a killed process held comes back. Linux.
///
/// ```
/// use eggbox::{Access, SharedOptions, SharedPool};
/// use std::time::Duration;
///
/// let name = format!("doc-{}", std::process::id());
/// // SAFETY: the processes of this pool write to no frame that is published.
/// let camera = unsafe { SharedOptions::new(1 << 16, 6).name(&name).feed(3).create()? };
/// let mut frame = camera.alloc()?;
/// frame[0] = 200;
/// frame.publish(b"")?;
///
/// // In any process:
/// // SAFETY: as above.
/// let reader = unsafe { SharedPool::attach(&name, Access::ReadOnly)? };
/// let view = reader.next(0, Some(Duration::from_secs(1)))?;
/// assert_eq!((view[0], view.sequence()), (200, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Threads
///
/// A `SharedPool` is a share of this process's attachment, as cheap to clone as an `Arc`. Any
/// thread may use it, and its frames and views may go to other threads.
#[derive(Debug, Clone)]
pub struct SharedPool {
    open: Arc<Open>,
}

impl SharedPool {
    /// Attaches to a pool by its name.
    ///
    /// # Safety
    ///
    /// As [`SharedOptions::create`].
    ///
    /// # Errors
    ///
    /// [`Error::Stale`]: there is no such name (any more). [`Error::Limit`]: 62 processes have it
    /// open. [`Error::Corrupt`]: the file is no pool, is cut short or damaged.
    /// [`Error::NoMemory`]: the system refused memory, a descriptor or the permission.
    /// [`Error::Unsupported`]: another version of the library made it. [`Error::Invalid`]: a name
    /// that no pool can have.
    pub unsafe fn attach(name: &str, access: Access) -> Result<Self, Error> {
        let name = CString::new(name).map_err(|_| Error::Invalid)?;
        // SAFETY: the caller promises what the pool needs; the name is read during the call.
        unsafe { Self::opened(|out| sys::egb_shared_attach(out, name.as_ptr(), access.flags())) }
    }

    /// Attaches by the descriptor of a pool, which another process sent or a parent left. The
    /// descriptor stays the caller's.
    ///
    /// # Safety
    ///
    /// As [`SharedOptions::create`].
    ///
    /// # Errors
    ///
    /// As [`attach`](Self::attach); [`Error::Invalid`] also if the descriptor is not open for
    /// reading and writing.
    pub unsafe fn attach_fd(fd: BorrowedFd<'_>, access: Access) -> Result<Self, Error> {
        let fd = fd.as_raw_fd();
        // SAFETY: the caller promises what the pool needs.
        unsafe { Self::opened(|out| sys::egb_shared_attach_fd(out, fd, access.flags())) }
    }

    /// # Safety
    ///
    /// `call` makes a pool that nobody else has, and the promise of `create` holds for it.
    unsafe fn opened(
        call: impl FnOnce(*mut *mut sys::egb_shared) -> sys::egb_status,
    ) -> Result<Self, Error> {
        let mut out = core::ptr::null_mut();
        Error::check(call(&mut out))?;
        let shared = NonNull::new(out).ok_or(Error::Invalid)?;
        let mut numbers = sys::egb_shared_numbers::default();
        // SAFETY: the pool is open; the library writes to `numbers`.
        unsafe { sys::egb_shared_stats(shared.as_ptr(), &mut numbers) };
        let open =
            Open { shared, block_bytes: numbers.block_bytes, note_bytes: numbers.note_bytes };
        Ok(SharedPool { open: Arc::new(open) })
    }

    fn raw(&self) -> *mut sys::egb_shared {
        self.open.shared.as_ptr()
    }

    /// A frame to write to, whose bytes are those that an earlier frame left. When no block is free
    /// the pool's [`OnFull`] decides.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`]: there is none. [`Error::Unsupported`]: the pool is read-only here.
    pub fn alloc(&self) -> Result<Frame, Error> {
        // SAFETY: the pool is open.
        match NonNull::new(unsafe { sys::egb_shared_alloc(self.raw()) }) {
            // SAFETY: a new block that nobody else has.
            Some(block) => Ok(unsafe { Frame::of(self.clone(), block.cast()) }),
            None => Err(self.refusal()),
        }
    }

    // A read-only attachment says so when it is asked to wait for no time.
    fn refusal(&self) -> Error {
        let mut block = core::ptr::null_mut();
        // SAFETY: the pool is open; a block that came free just now goes back.
        unsafe {
            match sys::egb_shared_alloc_wait(self.raw(), &mut block, 0) {
                sys::EGB_OK => {
                    sys::egb_shared_release(self.raw(), block);
                    Error::Busy
                }
                sys::EGB_INVALID => Error::Unsupported,
                status => Error::check(status).err().unwrap_or(Error::Busy),
            }
        }
    }

    /// The oldest published frame with a number above `after`; 0: the oldest of all. Pass the
    /// number of the last one to see each frame once. Waits up to `timeout`; `None`: for ever.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`]: none came in time, or [`cancel`](Self::cancel) was called.
    /// [`Error::Unsupported`]: the pool has no feed.
    pub fn next(&self, after: u64, timeout: Option<Duration>) -> Result<View, Error> {
        let time = nanoseconds(timeout);
        // SAFETY: the pool is open; the library writes to `out`.
        self.view(|out| unsafe { sys::egb_shared_next(self.raw(), after, time, out) })
    }

    /// Takes the oldest frame out of the feed: no other reader gets it after that. Each frame thus
    /// goes to one worker. Waits as [`next`](Self::next), with the same errors.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next).
    pub fn take(&self, timeout: Option<Duration>) -> Result<View, Error> {
        let time = nanoseconds(timeout);
        // SAFETY: as in next().
        self.view(|out| unsafe { sys::egb_shared_take(self.raw(), time, out) })
    }

    /// The newest frame of the feed, at once.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`]: there is none. [`Error::Unsupported`]: the pool has no feed.
    pub fn latest(&self) -> Result<View, Error> {
        // SAFETY: as in next().
        self.view(|out| unsafe { sys::egb_shared_latest(self.raw(), out) })
    }

    fn view(
        &self,
        call: impl FnOnce(&mut sys::egb_published) -> sys::egb_status,
    ) -> Result<View, Error> {
        // SAFETY: all zero is a value of this struct.
        let mut out: sys::egb_published = unsafe { core::mem::zeroed() };
        Error::check(call(&mut out))?;
        // SAFETY: a published frame, which this process holds once more.
        unsafe { View::of(self.clone(), out) }
    }

    /// Opens a frame by its handle.
    ///
    /// # Errors
    ///
    /// [`Error::Stale`]: the frame is gone, for certain. [`Error::Invalid`]: the handle is not this
    /// pool's.
    pub fn open(&self, handle: Handle) -> Result<View, Error> {
        self.view(|out| {
            out.frame = handle.0;
            // SAFETY: the pool is open; the library writes the address.
            unsafe { sys::egb_shared_open(self.raw(), handle.0, &mut out.block) }
        })
    }

    /// Ends the waits of this process on this pool: they return [`Error::Busy`].
    pub fn cancel(&self) {
        // SAFETY: the pool is open.
        unsafe { sys::egb_shared_cancel(self.raw()) };
    }

    /// Gives back all that dead processes held, and returns how many there were. `alloc` does the
    /// same before it says no.
    pub fn recover(&self) -> usize {
        // SAFETY: the pool is open.
        unsafe { sys::egb_shared_recover(self.raw()) }
    }

    /// Bytes of a frame.
    pub fn frame_bytes(&self) -> usize {
        self.open.block_bytes
    }

    /// The bytes that its maker gave with [`SharedOptions::about`].
    pub fn about(&self) -> &[u8] {
        let mut bytes = 0;
        // SAFETY: the bytes live until the pool is closed, and nobody writes to them.
        unsafe {
            let start = sys::egb_shared_about(self.raw(), &mut bytes);
            if start.is_null() { &[] } else { core::slice::from_raw_parts(start.cast(), bytes) }
        }
    }

    /// The numbers of the pool. Exact if nobody uses it meanwhile.
    pub fn stats(&self) -> SharedStats {
        let mut numbers = sys::egb_shared_numbers::default();
        // SAFETY: the pool is open; the library writes to `numbers`.
        unsafe { sys::egb_shared_stats(self.raw(), &mut numbers) };
        SharedStats {
            count: numbers.count,
            in_use: numbers.in_use,
            only_feed: numbers.only_feed,
            attachments: numbers.attachments,
            published: numbers.published,
            dropped: numbers.dropped,
            failures: numbers.failures,
            recovered: numbers.recovered,
        }
    }
}

impl AsFd for SharedPool {
    /// The descriptor of the pool, to hand on to another process.
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is open as long as the pool, which is borrowed.
        unsafe { BorrowedFd::borrow_raw(sys::egb_shared_fd(self.raw())) }
    }
}

/// The numbers of a [`SharedPool`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SharedStats {
    /// Blocks.
    pub count: usize,
    /// Blocks that are not free.
    pub in_use: usize,
    /// Blocks of these that nobody but the feed holds.
    pub only_feed: usize,
    /// Processes that have it open, alive or not yet recovered.
    pub attachments: usize,
    /// Frames published, ever.
    pub published: u64,
    /// Frames that an alloc took from the feed, ever.
    pub dropped: u64,
    /// Allocs that found no block, ever.
    pub failures: u64,
    /// Dead processes whose frames came back, ever.
    pub recovered: u64,
}

fn nanoseconds(timeout: Option<Duration>) -> u64 {
    timeout.map_or(sys::EGB_SHARED_FOREVER, |time| {
        u64::try_from(time.as_nanos()).unwrap_or(sys::EGB_SHARED_FOREVER)
    })
}
