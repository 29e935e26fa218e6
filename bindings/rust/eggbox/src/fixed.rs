// SPDX-License-Identifier: MIT
//! A pool in one object.
use crate::boxed::{Boxed, Source};
use crate::error::Full;
use core::cell::UnsafeCell;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::NonNull;
use eggbox_sys as sys;

/// A value in a [`FixedPool`].
pub type FixedBox<'p, T, const N: usize> = Boxed<T, &'p FixedPool<T, N>>;

/// A block: a value, or the link and the mark of the free list, in words of 4 bytes.
#[repr(C, align(4))]
union Slot<T> {
    value: ManuallyDrop<T>,
    link: u32,
}

/// Room for `N` values of one type in one object: on the stack, in a static, in a field. No heap,
/// no `std`. Alloc and free take constant time.
///
/// ```
/// use eggbox::FixedPool;
///
/// let packets = FixedPool::<[u8; 64], 8>::new();
/// let packet = packets.alloc([0; 64]).unwrap();
/// assert_eq!(packets.in_use(), 1);
/// drop(packet);
/// assert_eq!((packets.in_use(), packets.peak()), (0, 1));
/// ```
///
/// # Threads
///
/// The pool is for one thread at a time: it is `Send`, if `T` is, and not `Sync`. Its boxes refer
/// to it and are neither. [`Pool`](crate::Pool) is for any thread.
///
/// # Moves
///
/// The pool can be moved while no box is in use; that is what the borrow checker permits, too. A
/// moved pool starts anew at its next call: its peak is forgotten, and so are boxes that
/// [`core::mem::forget`] left behind.
pub struct FixedPool<T, const N: usize> {
    pool: UnsafeCell<sys::egb_fixed>,
    slots: UnsafeCell<[MaybeUninit<Slot<T>>; N]>,
}

// SAFETY: a pool that is sent has no boxes, because they borrow it. Its addresses lead into itself,
// and are made anew where it arrives.
unsafe impl<T: Send, const N: usize> Send for FixedPool<T, N> {}

impl<T, const N: usize> FixedPool<T, N> {
    /// An empty pool, in a constant expression too. `N` is at least 1, and the blocks together are
    /// at most 16 GiB; other pools do not compile.
    ///
    /// ```
    /// static TICKS: std::sync::Mutex<eggbox::FixedPool<u64, 16>> =
    ///     std::sync::Mutex::new(eggbox::FixedPool::new());
    /// let ticks = TICKS.lock().unwrap();
    /// assert_eq!(*ticks.alloc(5).unwrap(), 5);
    /// ```
    pub const fn new() -> Self {
        const { assert!(N > 0, "a pool has at least one block") };
        const { assert!(N as u64 * size_of::<Slot<T>>() as u64 <= 1 << 34, "over 16 GiB") };
        FixedPool {
            pool: UnsafeCell::new(sys::egb_fixed {
                first: core::ptr::null_mut(),
                inverse: 0,
                side: sys::egb_fixed_side { live: core::ptr::null_mut() },
                head: 0,
                bound: 0,
                limit: 0,
                reach: 0,
                stride: 0,
                checksum: 0,
                shift: 0,
                mode: 0,
            }),
            slots: UnsafeCell::new([const { MaybeUninit::uninit() }; N]),
        }
    }

    /// Moves a value into a free block.
    ///
    /// # Errors
    ///
    /// [`Full`], with the value, when all `N` blocks are in use.
    ///
    /// ```
    /// let pool = eggbox::FixedPool::<u8, 2>::new();
    /// let (one, two) = (pool.alloc(1).unwrap(), pool.alloc(2).unwrap());
    /// assert!(pool.alloc(3).is_err());
    /// assert_eq!(*one + *two, 3);
    /// ```
    pub fn alloc(&self, value: T) -> Result<FixedBox<'_, T, N>, Full<T>> {
        // SAFETY: the pool is ready, and one thread at a time uses it.
        match NonNull::new(unsafe { sys::egb_fixed_alloc(self.ready()) }) {
            // SAFETY: a block of our own slots, each as large and aligned as a T needs.
            Some(block) => Ok(unsafe { Boxed::fill(block.cast(), value, self) }),
            None => Err(Full(value)),
        }
    }

    /// Blocks, in use or not: `N`.
    ///
    /// ```
    /// assert_eq!(eggbox::FixedPool::<u8, 3>::new().capacity(), 3);
    /// ```
    pub const fn capacity(&self) -> usize {
        N
    }

    /// Blocks in use. O(free blocks): no counter makes alloc slower.
    pub fn in_use(&self) -> usize {
        // SAFETY: as in alloc().
        unsafe { sys::egb_fixed_in_use(self.ready()) }
    }

    /// The most blocks that were in use at one time. O(1).
    pub fn peak(&self) -> usize {
        // SAFETY: as in alloc().
        unsafe { sys::egb_fixed_peak(self.ready()) }
    }

    /// Makes the pool at its first use, and again where it was moved to.
    fn ready(&self) -> *mut sys::egb_fixed {
        let pool = self.pool.get();
        let slots = self.slots.get();
        // SAFETY: no other reference to the fields exists: the pool is not Sync, and no call of it
        // is inside another. The slots are aligned to 4 bytes, and their size is a multiple of 4.
        unsafe {
            if (*pool).first != slots.cast() {
                let bytes = size_of_val(&*slots);
                let status = sys::egb_fixed_init(pool, slots.cast(), bytes, size_of::<Slot<T>>());
                debug_assert_eq!(status, sys::EGB_OK);
            }
        }
        pool
    }
}

impl<T, const N: usize> Default for FixedPool<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, const N: usize> core::fmt::Debug for FixedPool<T, N> {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.debug_struct("FixedPool").field("capacity", &N).field("in_use", &self.in_use()).finish()
    }
}

impl<T, const N: usize> Source<T> for &FixedPool<T, N> {
    unsafe fn give_back(&self, block: NonNull<T>) {
        // SAFETY: the box borrowed the pool, which is therefore where it was, and ready.
        unsafe { sys::egb_fixed_free(self.pool.get(), block.as_ptr().cast()) };
    }
}
