// SPDX-License-Identifier: MIT
//! The numbers that pools count.
use crate::error::Error;
use eggbox_sys as sys;
use std::ffi::CStr;
use std::string::String;

/// The numbers of a pool, or the sums over it and its descendants. Exact if no other thread is
/// inside a call; `peak` may be more, by the blocks that threads have at hand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStats {
    /// The pool's name, cut to 47 bytes.
    pub name: String,
    /// 1, or the number of pools in the subtree.
    pub pools: usize,
    /// Bytes of a block.
    pub block_bytes: usize,
    /// Blocks in all chunks.
    pub capacity: usize,
    /// Blocks in use.
    pub in_use: usize,
    /// The most blocks in use at one time.
    pub peak: usize,
    /// Blocks handed out, ever.
    pub allocations: u64,
    /// Blocks taken back, ever.
    pub frees: u64,
    /// Requests that were refused.
    pub failures: u64,
    /// Bytes of all chunks: addresses, which become memory as they are touched.
    pub bytes_held: usize,
}

impl PoolStats {
    pub(crate) fn of(pool: sys::egb_pool, with_descendants: bool) -> Result<Self, Error> {
        // SAFETY: all zero is a value of this struct.
        let mut numbers: sys::egb_pool_stats = unsafe { core::mem::zeroed() };
        // SAFETY: the library writes to `numbers` alone.
        Error::check(unsafe {
            match with_descendants {
                true => sys::egb_pool_get_subtree_stats(pool, &mut numbers),
                false => sys::egb_pool_get_stats(pool, &mut numbers),
            }
        })?;
        // SAFETY: the library ends the name with a zero.
        let name = unsafe { CStr::from_ptr(numbers.name.as_ptr()) };
        Ok(PoolStats {
            name: name.to_string_lossy().into_owned(),
            pools: numbers.pools,
            block_bytes: numbers.block_bytes,
            capacity: numbers.capacity,
            in_use: numbers.in_use,
            peak: numbers.peak,
            allocations: numbers.allocations,
            frees: numbers.frees,
            failures: numbers.failures,
            bytes_held: numbers.bytes_held,
        })
    }
}

/// The numbers of the heap: blocks of up to 64 KiB, which come from pools, and large blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeapStats {
    /// The sums over the pools of all size classes.
    pub small: PoolStats,
    /// Large blocks handed out, ever.
    pub large_allocations: u64,
    /// Large blocks taken back, ever.
    pub large_frees: u64,
    /// Large blocks in use.
    pub large_in_use: usize,
    /// Their size in bytes, in whole units of 64 KiB of addresses.
    pub large_bytes: usize,
    /// Bytes of freed regions that are kept for later requests.
    pub cached_bytes: usize,
}

impl HeapStats {
    pub(crate) fn now() -> Result<Self, Error> {
        // SAFETY: all zero is a value of this struct.
        let mut numbers: sys::egb_heap_stats = unsafe { core::mem::zeroed() };
        // SAFETY: the library writes to `numbers` alone.
        Error::check(unsafe { sys::egb_heap_get_stats(&mut numbers) })?;
        // SAFETY: a question without a condition.
        let root = unsafe { sys::egb_heap_pool() };
        let is_used = root.generation != 0; // the null pool would be all pools of the process
        Ok(HeapStats {
            small: if is_used { PoolStats::of(root, true)? } else { PoolStats::default() },
            large_allocations: numbers.large_allocations,
            large_frees: numbers.large_frees,
            large_in_use: numbers.large_in_use,
            large_bytes: numbers.large_bytes,
            cached_bytes: numbers.cached_bytes,
        })
    }
}
