// SPDX-License-Identifier: MIT
//! The global allocator.
use crate::error::Error;
use crate::stats::HeapStats;
use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;
use eggbox_sys as sys;

/// The alignment of each block that was requested without one.
const ALIGN: usize = 16;

/// The heap of the process: blocks of any size, from a pool for each size class, for any thread.
///
/// ```
/// #[global_allocator]
/// static HEAP: eggbox::Heap = eggbox::Heap;
///
/// fn main() {
///     let words = vec!["one".to_string(), "two".to_string()];
///     assert!(HEAP.stats().unwrap().small.in_use > 0);
///     drop(words);
/// }
/// ```
///
/// Each `dealloc` is checked: a second free, an address inside a block and a block of another
/// memory are refused and reported, and so is a layout with another size class than the block's
/// ([`MisuseKind::WrongSize`](crate::MisuseKind::WrongSize); the block is then freed all the same).
/// The variables `EGGBOX_CHECK`, `EGGBOX_GUARD_PAGES` and `EGGBOX_REPORT` work as for a C program.
#[derive(Debug, Clone, Copy, Default)]
pub struct Heap;

impl Heap {
    /// The numbers of the heap. O(classes in use * threads).
    ///
    /// # Errors
    ///
    /// [`Error::Stale`] if C code destroys the heap's pools meanwhile.
    pub fn stats(&self) -> Result<HeapStats, Error> {
        HeapStats::now()
    }

    /// Gives memory back to the system that nobody used for a quarter to half a second, and returns
    /// how many bytes. A call within 250 ms of the last one has no effect. From the first call on
    /// the heap leaves unused memory to these calls: for a thread that calls it again and again.
    pub fn purge(&self) -> usize {
        // SAFETY: a call without a condition.
        unsafe { sys::egb_heap_purge() }
    }

    /// Gives unused memory back at once, as long as the heap still holds `keep_bytes`, and returns
    /// how many bytes.
    ///
    /// ```
    /// drop(vec![1u8; 1 << 20]);
    /// let given_back = eggbox::Heap.trim(0);
    /// println!("{given_back} bytes");
    /// ```
    pub fn trim(&self, keep_bytes: usize) -> usize {
        // SAFETY: a call without a condition.
        unsafe { sys::egb_heap_trim(keep_bytes) }
    }
}

/// The bytes of the class that serves a request of up to 64 KiB; the next sizes up to 128 bytes are
/// 16 apart, then there are 8 for each doubling. `None`: a large block.
fn class_bytes(bytes: usize) -> Option<usize> {
    if bytes > sys::EGB_HEAP_CLASS_BYTES_MAX {
        return None;
    }
    let step = if bytes <= 128 { ALIGN } else { bytes.next_power_of_two() / 16 };
    Some(bytes.next_multiple_of(step))
}

/// Whether `realloc` in C might leave the block in a class that is not that of its new size: the
/// check of the size in `dealloc` would fail.
fn must_move(layout: Layout, bytes: usize) -> bool {
    let is_other_class = class_bytes(bytes) != class_bytes(layout.size());
    layout.align() > ALIGN || (bytes < layout.size() && is_other_class)
}

// SAFETY: blocks of the library are as large and as aligned as requested and nobody else's until
// they are freed. No call unwinds.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: any size and any power of two are fine.
        unsafe {
            if layout.align() <= ALIGN {
                sys::egb_malloc(layout.size()).cast()
            } else {
                sys::egb_aligned_alloc(layout.align(), layout.size()).cast()
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= ALIGN {
            // SAFETY: as in alloc().
            return unsafe { sys::egb_calloc(1, layout.size()).cast() };
        }
        // SAFETY: the caller's layout is alloc()'s.
        let block = unsafe { self.alloc(layout) };
        if !block.is_null() {
            // SAFETY: a new block of this size.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let block: *mut c_void = block.cast();
        // SAFETY: the block came from alloc() with this layout; the library checks both.
        unsafe {
            if layout.align() <= ALIGN {
                sys::egb_free_sized_(block, layout.size());
            } else {
                sys::egb_free_aligned_sized_(block, layout.align(), layout.size());
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if !must_move(layout, bytes) {
            // SAFETY: the block came from alloc() without an alignment.
            return unsafe { sys::egb_realloc(block.cast(), bytes).cast() };
        }
        // SAFETY: the caller promises a size that, rounded up to the alignment, fits an isize.
        let new_layout = unsafe { Layout::from_size_align_unchecked(bytes, layout.align()) };
        // SAFETY: both blocks have the bytes that are copied, and are not the same.
        unsafe {
            let new_block = self.alloc(new_layout);
            if !new_block.is_null() {
                new_block.copy_from_nonoverlapping(block, layout.size().min(bytes));
                self.dealloc(block, layout);
            }
            new_block
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_those_of_the_library() {
        // SAFETY: the library writes to `numbers` alone, and frees its own blocks.
        unsafe {
            let mut numbers: sys::egb_heap_stats = core::mem::zeroed();
            sys::egb_free(sys::egb_malloc(1));
            assert_eq!(sys::egb_heap_get_stats(&mut numbers), sys::EGB_OK);
            let mut smaller = 0;
            for class in numbers.classes {
                for bytes in [smaller + 1, class.block_bytes] {
                    assert_eq!(class_bytes(bytes), Some(class.block_bytes), "{bytes}");
                }
                smaller = class.block_bytes;
            }
            assert_eq!(class_bytes(smaller + 1), None);
        }
    }
}
