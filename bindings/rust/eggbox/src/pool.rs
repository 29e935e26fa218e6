// SPDX-License-Identifier: MIT
//! Pools that grow, for any thread.
use crate::boxed::{Boxed, Source};
use crate::error::{Error, Full};
use crate::stats::PoolStats;
use core::ffi::c_uint;
use core::marker::PhantomData;
use core::ptr::NonNull;
use eggbox_sys as sys;
use std::ffi::CString;
use std::sync::Arc;

/// A value in a [`Pool`], which the box borrows.
pub type PoolBox<'p, T> = Boxed<T, &'p Pool<T>>;

/// A value in a [`Pool`] that lives as long as the box: for values that outlive the scope of the
/// pool, as in threads.
pub type OwnedBox<T> = Boxed<T, Pool<T>>;

/// How much a pool checks. Each level finds all that the one before it finds, and more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Level {
    /// `Check`, or `Guard` if AddressSanitizer or Valgrind watches. `EGGBOX_CHECK` has precedence.
    #[default]
    Default,
    /// Handles of pools that are gone.
    Off,
    /// And each free that is wrong.
    Check,
    /// And writes outside of blocks, and to blocks that are free.
    Guard,
    /// And the place of each allocation and free.
    Track,
    /// Each block is one of the C library's `malloc`, for tools to watch.
    Passthrough,
    /// As `Check`, and the places of a sample of the allocations.
    Sample,
}

/// The pool in the library, for all that share it. A parent outlives its children, so that none of
/// their blocks ends with it.
#[derive(Debug)]
struct Shared {
    handle: sys::egb_pool,
    _parent: Option<Arc<Shared>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: no box is left that anybody can reach, because each has a share of the pool or
        // borrows one. Boxes that were forgotten end with the pool; there are no children.
        unsafe { sys::egb_pool_destroy(self.handle, sys::EGB_DESTROY_FORCE) };
    }
}

/// Values of one type in blocks of one size. The pool grows as needed, for any thread.
///
/// A `Pool` is a share of the pool: a clone leads to the same one. The pool ends, and its memory
/// goes back, with its last share and its last [`OwnedBox`].
///
/// ```
/// use eggbox::{Pool, PoolOptions};
/// use std::thread;
///
/// let jobs: Pool<[u8; 100]> = PoolOptions::new().name("jobs").max_blocks(1000).build()?;
/// thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| drop(jobs.alloc([0; 100]).unwrap()));
///     }
/// });
/// assert_eq!(jobs.stats()?.allocations, 4);
/// # Ok::<(), eggbox::Error>(())
/// ```
///
/// # Threads
///
/// A pool is `Send` and `Sync` for each `T`: it takes values in, and never gives them to anyone but
/// their box. A box is `Send` if `T` is, because a block may be freed by any thread.
pub struct Pool<T> {
    shared: Arc<Shared>,
    takes: PhantomData<fn(T) -> T>,
}

impl<T> Pool<T> {
    /// A pool without a limit: `PoolOptions::new().build()`.
    ///
    /// # Errors
    ///
    /// As [`PoolOptions::build`].
    pub fn new() -> Result<Self, Error> {
        PoolOptions::new().build()
    }

    /// Moves a value into a block. The box borrows the pool.
    ///
    /// # Errors
    ///
    /// [`Full`], with the value: `max_blocks` are in use, a budget is used up, or the system
    /// refused.
    ///
    /// ```
    /// let one: eggbox::Pool<u64> = eggbox::PoolOptions::new().max_blocks(1).build()?;
    /// let first = one.alloc(1).unwrap();
    /// assert_eq!(one.alloc(2).unwrap_err().0, 2);
    /// # drop(first);
    /// # Ok::<(), eggbox::Error>(())
    /// ```
    pub fn alloc(&self, value: T) -> Result<PoolBox<'_, T>, Full<T>> {
        match self.block() {
            // SAFETY: a new block of this pool, made for values of this type.
            Some(block) => Ok(unsafe { Boxed::fill(block, value, self) }),
            None => Err(Full(value)),
        }
    }

    /// As [`alloc`](Self::alloc), with a box that has a share of the pool. One atomic operation
    /// more, and one at the box's end.
    ///
    /// ```
    /// let pool = eggbox::Pool::new()?;
    /// let word = pool.alloc_owned("egg".to_string()).unwrap();
    /// drop(pool);
    /// std::thread::spawn(move || assert_eq!(*word, "egg")).join().unwrap();
    /// # Ok::<(), eggbox::Error>(())
    /// ```
    pub fn alloc_owned(&self, value: T) -> Result<OwnedBox<T>, Full<T>> {
        match self.block() {
            // SAFETY: as in alloc().
            Some(block) => Ok(unsafe { Boxed::fill(block, value, self.clone()) }),
            None => Err(Full(value)),
        }
    }

    fn block(&self) -> Option<NonNull<T>> {
        // SAFETY: the handle may even be stale.
        NonNull::new(unsafe { sys::egb_pool_alloc(self.shared.handle) }.cast())
    }

    /// Gets memory until `blocks` more can be allocated without asking the system.
    ///
    /// # Errors
    ///
    /// [`Error::Limit`]: `max_blocks` or a budget does not allow it. [`Error::NoMemory`]: the
    /// system refused.
    pub fn reserve(&self, blocks: usize) -> Result<(), Error> {
        // SAFETY: a call without a condition.
        Error::check(unsafe { sys::egb_pool_reserve(self.shared.handle, blocks) })
    }

    /// Gives free memory back to the system, as long as the pool still holds `keep_bytes`, and
    /// returns how many bytes.
    pub fn trim(&self, keep_bytes: usize) -> usize {
        // SAFETY: a call without a condition.
        unsafe { sys::egb_pool_trim(self.shared.handle, keep_bytes) }
    }

    /// The numbers of this pool. O(threads).
    ///
    /// # Errors
    ///
    /// [`Error::Stale`] if C code destroyed the pool.
    ///
    /// ```
    /// let pool = eggbox::Pool::new()?;
    /// let _seven = pool.alloc(7).unwrap();
    /// assert_eq!((pool.stats()?.in_use, pool.stats()?.peak), (1, 1));
    /// # Ok::<(), eggbox::Error>(())
    /// ```
    pub fn stats(&self) -> Result<PoolStats, Error> {
        PoolStats::of(self.shared.handle, false)
    }

    /// The sums over this pool and all its descendants.
    ///
    /// # Errors
    ///
    /// [`Error::Stale`] if C code destroyed the pool.
    pub fn subtree_stats(&self) -> Result<PoolStats, Error> {
        PoolStats::of(self.shared.handle, true)
    }
}

impl<T> Clone for Pool<T> {
    fn clone(&self) -> Self {
        Pool { shared: self.shared.clone(), takes: PhantomData }
    }
}

impl<T> core::fmt::Debug for Pool<T> {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.stats() {
            Ok(stats) => write!(out, "Pool({:?}, {} in use)", stats.name, stats.in_use),
            Err(error) => write!(out, "Pool({error:?})"),
        }
    }
}

impl<T> Source<T> for &Pool<T> {
    unsafe fn give_back(&self, block: NonNull<T>) {
        // SAFETY: the caller's block is of this pool.
        unsafe { sys::egb_pool_free(self.shared.handle, block.as_ptr().cast()) };
    }
}

impl<T> Source<T> for Pool<T> {
    unsafe fn give_back(&self, block: NonNull<T>) {
        // SAFETY: as the caller promises.
        unsafe { <&Self as Source<T>>::give_back(&self, block) };
    }
}

/// How to make a [`Pool`]. Nothing is required.
///
/// ```
/// use eggbox::{Level, Pool, PoolOptions};
///
/// let server: Pool<()> = PoolOptions::new().name("server").budget_bytes(1 << 20).build()?;
/// let users: Pool<String> = PoolOptions::new()
///     .name("users")
///     .parent(&server)        // counts against the server's budget
///     .level(Level::Guard)
///     .build()?;
/// let _ann = users.alloc("Ann".to_string()).unwrap();
/// assert_eq!(server.subtree_stats()?.in_use, 1);
/// # Ok::<(), eggbox::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct PoolOptions<'a> {
    name: &'a str,
    max_blocks: usize,
    reserve: usize,
    budget_bytes: usize,
    flags: c_uint,
    level: Level,
    parent: Option<Arc<Shared>>,
}

impl<'a> PoolOptions<'a> {
    /// No name, no limit, no parent.
    pub fn new() -> Self {
        Self::default()
    }

    /// The name in reports and statistics, cut to 47 bytes.
    pub fn name(mut self, name: &'a str) -> Self {
        self.name = name;
        self
    }

    /// The most blocks in use at one time, exactly. 0: no limit.
    pub fn max_blocks(mut self, blocks: usize) -> Self {
        self.max_blocks = blocks;
        self
    }

    /// So many blocks can be allocated without asking the system.
    pub fn reserve(mut self, blocks: usize) -> Self {
        self.reserve = blocks;
        self
    }

    /// The most bytes that the pool and its descendants may hold. 0: no limit.
    pub fn budget_bytes(mut self, bytes: usize) -> Self {
        self.budget_bytes = bytes;
        self
    }

    /// The pool that this one is a part of. It lives at least as long as this one.
    pub fn parent<U>(mut self, parent: &Pool<U>) -> Self {
        self.parent = Some(parent.shared.clone());
        self
    }

    /// How much the pool checks.
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// A chunk's pages are in memory before its first block is handed out.
    pub fn prefault(mut self) -> Self {
        self.flags |= sys::EGB_PREFAULT;
        self
    }

    /// Chunks are in large pages, if the system has some.
    pub fn huge_pages(mut self) -> Self {
        self.flags |= sys::EGB_HUGE_PAGES;
        self
    }

    /// No two blocks share a cache line.
    pub fn cache_line(mut self) -> Self {
        self.flags |= sys::EGB_CACHE_LINE;
        self
    }

    /// Makes the pool.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: `T` has an alignment of more than a page, the name has a zero byte, or
    /// the budget is too small for the reserved blocks. [`Error::Limit`]: `T` is over 16 GiB, more
    /// blocks are reserved than the limit or an ancestor's budget allows, or there are 65,535
    /// pools. [`Error::NoMemory`]: the system refused. [`Error::Unsupported`]: the level is
    /// `Passthrough`, and this program's malloc is eggbox.
    pub fn build<T>(self) -> Result<Pool<T>, Error> {
        let name = CString::new(self.name).map_err(|_| Error::Invalid)?;
        let null = sys::egb_pool { slot: 0, generation: 0 };
        let options = sys::egb_pool_options {
            name: if self.name.is_empty() { core::ptr::null() } else { name.as_ptr() },
            block_bytes: size_of::<T>().max(1),
            block_align: align_of::<T>(),
            max_blocks: self.max_blocks,
            reserve_blocks: self.reserve,
            parent: self.parent.as_ref().map_or(null, |parent| parent.handle),
            budget_bytes: self.budget_bytes,
            memory: core::ptr::null_mut(),
            memory_bytes: 0,
            flags: self.flags,
            level: self.level as sys::egb_level,
            on_exhausted: None,
            user: core::ptr::null_mut(),
        };
        let mut handle = null;
        // SAFETY: the library reads the options, copies the name and writes the handle.
        Error::check(unsafe { sys::egb_pool_create(&mut handle, &options) })?;
        let shared = Arc::new(Shared { handle, _parent: self.parent });
        Ok(Pool { shared, takes: PhantomData })
    }
}
