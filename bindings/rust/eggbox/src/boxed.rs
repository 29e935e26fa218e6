// SPDX-License-Identifier: MIT
//! The owner of one value in a pool.
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

/// The pools that a [`Boxed`] can come from. Private: a pool that frees wrongly would be unsound.
pub trait Source<T> {
    /// Gives a block back, whose value is gone.
    ///
    /// # Safety
    ///
    /// The block came from this pool, and is not used after the call.
    unsafe fn give_back(&self, block: NonNull<T>);
}

/// Owns one value in a pool, as `Box` does on the heap. At its end the value is dropped, and the
/// block goes back.
///
/// `P` leads to the pool: a reference, so that no box outlives its pool ([`FixedBox`],
/// [`PoolBox`]), or a share of the pool ([`OwnedBox`]).
///
/// [`FixedBox`]: crate::FixedBox
/// [`PoolBox`]: crate::PoolBox
/// [`OwnedBox`]: crate::OwnedBox
///
/// A box cannot outlive its pool:
///
/// ```compile_fail,E0597
/// let late = {
///     let pool = eggbox::FixedPool::<u32, 8>::new();
///     pool.alloc(1).unwrap()
/// };
/// ```
pub struct Boxed<T, P: Source<T>> {
    block: NonNull<T>,
    pool: P,
    owns: PhantomData<T>,
}

// SAFETY: a box is its value and its way to the pool, and nothing else is reached through it.
unsafe impl<T: Send, P: Source<T> + Send> Send for Boxed<T, P> {}
// SAFETY: as for Send. A shared box gives out only shared references to the value.
unsafe impl<T: Sync, P: Source<T> + Sync> Sync for Boxed<T, P> {}

impl<T, P: Source<T>> Boxed<T, P> {
    /// Moves `value` into a block.
    ///
    /// # Safety
    ///
    /// `block` has room for a `T`, is aligned for it, is nobody else's, and came from `pool`, which
    /// keeps it valid as long as `pool` exists.
    pub(crate) unsafe fn fill(block: NonNull<T>, value: T, pool: P) -> Self {
        // SAFETY: the caller says so.
        unsafe { block.write(value) };
        Boxed { block, pool, owns: PhantomData }
    }

    /// The value, moved out of its block, which goes back to the pool.
    ///
    /// ```
    /// let pool = eggbox::FixedPool::<String, 4>::new();
    /// let name = pool.alloc("egg".to_string()).unwrap();
    /// assert_eq!(eggbox::Boxed::into_inner(name), "egg");
    /// assert_eq!(pool.in_use(), 0);
    /// ```
    pub fn into_inner(this: Self) -> T {
        let this = ManuallyDrop::new(this);
        // SAFETY: `this` is never dropped, so value and pool are read once. The block is the pool's
        // and empty when it goes back.
        unsafe {
            let pool = core::ptr::read(&this.pool);
            let value = this.block.read();
            pool.give_back(this.block);
            value
        }
    }
}

impl<T, P: Source<T>> Drop for Boxed<T, P> {
    fn drop(&mut self) {
        /// Gives the block back, also if the drop of the value panics.
        struct GiveBack<'a, T, P: Source<T>>(&'a Boxed<T, P>);
        impl<T, P: Source<T>> Drop for GiveBack<'_, T, P> {
            fn drop(&mut self) {
                // SAFETY: the block came from this pool, and the value is dropped.
                unsafe { self.0.pool.give_back(self.0.block) };
            }
        }
        let block = self.block;
        let _end = GiveBack(self);
        // SAFETY: the box owns the value, and ends here.
        unsafe { block.drop_in_place() };
    }
}

impl<T, P: Source<T>> Deref for Boxed<T, P> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the block holds a value from fill() to the end of the box.
        unsafe { self.block.as_ref() }
    }
}

impl<T, P: Source<T>> DerefMut for Boxed<T, P> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in deref(), and the box is the only way to the value.
        unsafe { self.block.as_mut() }
    }
}

impl<T: fmt::Debug, P: Source<T>> fmt::Debug for Boxed<T, P> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(out)
    }
}

impl<T: fmt::Display, P: Source<T>> fmt::Display for Boxed<T, P> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(out)
    }
}
