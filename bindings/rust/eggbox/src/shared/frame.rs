// SPDX-License-Identifier: MIT
//! A frame that is written, and one that is read.
use super::SharedPool;
use crate::error::Error;
use core::fmt;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use core::slice;
use eggbox_sys as sys;

/// One hold of a block: its end gives it back.
struct Hold {
    pool: SharedPool,
    block: NonNull<u8>,
}

// SAFETY: any thread may release a block. The bytes are reached through Frame and View alone.
unsafe impl Send for Hold {}
// SAFETY: a shared hold gives nothing out but an address.
unsafe impl Sync for Hold {}

impl Drop for Hold {
    fn drop(&mut self) {
        // SAFETY: the hold is this one's, and the pool is open.
        unsafe { sys::egb_shared_release(self.pool.raw(), self.block.as_ptr().cast()) };
    }
}

impl Hold {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the block has so many bytes, all of them of mapped memory. Nobody writes to them
        // while they are borrowed: a Frame is the only one of its block, and processes do not write
        // to frames that can be viewed (SharedOptions::create).
        unsafe { slice::from_raw_parts(self.block.as_ptr(), self.pool.open.block_bytes) }
    }
}

/// A frame that this process writes, and nobody else sees. Dropped without a publish, it is free
/// again.
///
/// ```
/// // SAFETY: no other process has this pool.
/// let pool = unsafe { eggbox::SharedOptions::new(100, 2).create()? };
/// let mut frame = pool.alloc()?;
/// frame.fill(7);
/// let view = frame.share();
/// let same = pool.open(view.handle())?;
/// assert_eq!(same[99], 7);
/// # Ok::<(), eggbox::Error>(())
/// ```
pub struct Frame {
    hold: Hold,
}

impl Frame {
    /// # Safety
    ///
    /// A block of `pool` that this process has just got, and nobody else.
    pub(super) unsafe fn of(pool: SharedPool, block: NonNull<u8>) -> Self {
        Frame { hold: Hold { pool, block } }
    }

    /// Publishes the frame: everyone may see it, and nobody writes to it any more. `note` goes with
    /// it; zeros follow up to the pool's `note_bytes`.
    ///
    /// # Errors
    ///
    /// With the frame: [`Error::Busy`]: another process publishes. [`Error::Invalid`]: the note is
    /// longer than the pool's. [`Error::Unsupported`]: the pool has no feed.
    pub fn publish(self, note: &[u8]) -> Result<View, Unpublished> {
        let pool = &self.hold.pool;
        if note.len() > pool.open.note_bytes {
            return Err(Unpublished { frame: self, error: Error::Invalid });
        }
        let mut bytes = [0; sys::EGB_SHARED_NOTE_BYTES_MAX];
        bytes[..note.len()].copy_from_slice(note);
        let mut sequence = 0;
        let block = self.hold.block.as_ptr().cast();
        // SAFETY: this process holds the block. The note has the most bytes that a pool can have.
        let status = unsafe {
            sys::egb_shared_publish(pool.raw(), block, bytes.as_ptr().cast(), &mut sequence)
        };
        match Error::check(status) {
            Ok(()) => Ok(View { sequence, note: bytes, ..self.share() }),
            Err(error) => Err(Unpublished { frame: self, error }),
        }
    }

    /// Ends the writing without a publish: for frames that go to others by their handle.
    pub fn share(self) -> View {
        // SAFETY: this process holds the block.
        let frame = unsafe {
            sys::egb_shared_handle(self.hold.pool.raw(), self.hold.block.as_ptr().cast())
        };
        View {
            hold: self.hold,
            handle: Handle(frame),
            sequence: 0,
            missed: 0,
            note: [0; sys::EGB_SHARED_NOTE_BYTES_MAX],
        }
    }
}

impl Deref for Frame {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.hold.bytes()
    }
}

impl DerefMut for Frame {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in bytes(); the frame is writable here, because alloc gave it, and its handle
        // is told by share() and publish() alone, which end it.
        unsafe {
            slice::from_raw_parts_mut(self.hold.block.as_ptr(), self.hold.pool.open.block_bytes)
        }
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Frame({} bytes)", self.len())
    }
}

/// A frame that was not published, and why.
#[derive(Debug)]
pub struct Unpublished {
    /// The frame, as it was.
    pub frame: Frame,
    /// Why.
    pub error: Error,
}

impl fmt::Display for Unpublished {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the frame was not published: {}", self.error)
    }
}

impl core::error::Error for Unpublished {}

/// A frame that this process reads. It stays as it is, and stays in its place, as long as the view.
/// A clone is one more hold of the same frame.
pub struct View {
    hold: Hold,
    handle: Handle,
    sequence: u64,
    missed: u64,
    note: [u8; sys::EGB_SHARED_NOTE_BYTES_MAX],
}

impl View {
    /// # Safety
    ///
    /// A frame of `pool` with a hold for this view, which nobody writes to.
    pub(super) unsafe fn of(pool: SharedPool, seen: sys::egb_published) -> Result<Self, Error> {
        let block = NonNull::new(seen.block.cast()).ok_or(Error::Invalid)?;
        Ok(View {
            hold: Hold { pool, block },
            handle: Handle(seen.frame),
            sequence: seen.sequence,
            missed: seen.missed,
            note: seen.note,
        })
    }

    /// The frame's number in the feed, from 1; 0 if it came by a handle.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Frames between `after` of [`SharedPool::next`] and this one, which fell out of the feed.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// The bytes given to publish, as many as the pool's `note_bytes`; zeros if it came by a
    /// handle.
    pub fn note(&self) -> &[u8] {
        &self.note[..self.hold.pool.open.note_bytes]
    }

    /// The frame's handle, for any queue, socket or file. It opens this frame, or none.
    pub fn handle(&self) -> Handle {
        self.handle
    }
}

impl Clone for View {
    fn clone(&self) -> Self {
        let pool = self.hold.pool.clone();
        // SAFETY: this process holds the block; the new view ends the new hold.
        unsafe { sys::egb_shared_retain(pool.raw(), self.hold.block.as_ptr().cast()) };
        View { hold: Hold { pool, block: self.hold.block }, ..*self }
    }
}

impl Deref for View {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.hold.bytes()
    }
}

impl fmt::Debug for View {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "View({} bytes, number {})", self.len(), self.sequence)
    }
}

/// The handle of a frame: 16 bytes that open this frame in any process, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handle(pub(super) sys::egb_frame);

impl Handle {
    /// The bytes of the C struct `egb_frame` on this machine.
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&self.0.pool.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.0.index.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.0.generation.to_ne_bytes());
        bytes
    }

    /// The handle with these bytes.
    ///
    /// # Safety
    ///
    /// They are those of a handle that a process gave away, and not made up: a guess might open a
    /// frame that is being written.
    pub unsafe fn from_bytes(bytes: [u8; 16]) -> Self {
        let (pool, rest) = bytes.split_at(4);
        let (index, generation) = rest.split_at(4);
        Handle(sys::egb_frame {
            pool: u32::from_ne_bytes(pool.try_into().unwrap_or_default()),
            index: u32::from_ne_bytes(index.try_into().unwrap_or_default()),
            generation: u64::from_ne_bytes(generation.try_into().unwrap_or_default()),
        })
    }
}
