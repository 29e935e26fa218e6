// SPDX-License-Identifier: MIT
//! stats.h, pool.h, heap.h and report.h.
use crate::{egb_level, egb_misuse_fn, egb_status};
use core::ffi::{c_char, c_int, c_uint, c_void};

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct egb_pool {
    pub slot: u32,
    pub generation: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct egb_pool_stats {
    pub name: [c_char; 48],
    pub pools: usize,
    pub block_bytes: usize,
    pub stride_bytes: usize,
    pub max_blocks: usize,
    pub budget_bytes: usize,
    pub capacity: usize,
    pub in_use: usize,
    pub in_magazines: usize,
    pub peak: usize,
    pub allocations: u64,
    pub frees: u64,
    pub failures: u64,
    pub chunks: usize,
    pub bytes_held: usize,
    pub bytes_prefaulted: usize,
    pub bytes_huge: usize,
}

pub const EGB_PREFAULT: c_uint = 1;
pub const EGB_HUGE_PAGES: c_uint = 2;
pub const EGB_CACHE_LINE: c_uint = 4;
pub const EGB_FRESH_ZERO: c_uint = 8;

pub type egb_exhausted_fn =
    Option<unsafe extern "C" fn(pool: egb_pool, user: *mut c_void) -> c_uint>;

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct egb_pool_options {
    pub name: *const c_char,
    pub block_bytes: usize,
    pub block_align: usize,
    pub max_blocks: usize,
    pub reserve_blocks: usize,
    pub parent: egb_pool,
    pub budget_bytes: usize,
    pub memory: *mut c_void,
    pub memory_bytes: usize,
    pub flags: c_uint,
    pub level: egb_level,
    pub on_exhausted: egb_exhausted_fn,
    pub user: *mut c_void,
}

pub type egb_destroy = c_uint;
pub const EGB_DESTROY_REFUSE: egb_destroy = 0;
pub const EGB_DESTROY_FORCE: egb_destroy = 1;

pub const EGB_HEAP_CLASSES: usize = 80;
pub const EGB_HEAP_CLASS_BYTES_MAX: usize = 65536;

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct egb_heap_class {
    pub pool: egb_pool,
    pub block_bytes: usize,
    pub requests: u64,
    pub requested_bytes: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct egb_heap_stats {
    pub large_allocations: u64,
    pub large_frees: u64,
    pub large_failures: u64,
    pub large_in_use: usize,
    pub large_peak: usize,
    pub large_bytes: usize,
    pub large_bytes_peak: usize,
    pub cached: usize,
    pub cached_bytes: usize,
    pub guarded_allocations: u64,
    pub guarded_in_use: usize,
    pub guarded_samples: usize,
    pub quarantined: usize,
    pub is_measured: bool,
    pub classes: [egb_heap_class; EGB_HEAP_CLASSES],
}

unsafe extern "C" {
    pub fn egb_misuse_set_handler(handler: egb_misuse_fn, user: *mut c_void);

    pub fn egb_pool_create(out: *mut egb_pool, options: *const egb_pool_options) -> egb_status;
    pub fn egb_pool_destroy(pool: egb_pool, how: egb_destroy) -> egb_status;
    pub fn egb_pool_alive(pool: egb_pool) -> bool;
    pub fn egb_pool_alloc(pool: egb_pool) -> *mut c_void;
    pub fn egb_pool_free(pool: egb_pool, block: *mut c_void);
    pub fn egb_pool_reserve(pool: egb_pool, blocks: usize) -> egb_status;
    pub fn egb_pool_trim(pool: egb_pool, keep_bytes: usize) -> usize;
    pub fn egb_pool_get_stats(pool: egb_pool, out: *mut egb_pool_stats) -> egb_status;
    pub fn egb_pool_get_subtree_stats(root: egb_pool, out: *mut egb_pool_stats) -> egb_status;

    pub fn egb_malloc(bytes: usize) -> *mut c_void;
    pub fn egb_calloc(count: usize, bytes: usize) -> *mut c_void;
    pub fn egb_realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
    pub fn egb_aligned_alloc(align: usize, bytes: usize) -> *mut c_void;
    pub fn egb_free(block: *mut c_void);
    pub fn egb_free_sized_(block: *mut c_void, bytes: usize);
    pub fn egb_free_aligned_sized_(block: *mut c_void, align: usize, bytes: usize);
    pub fn egb_block_bytes(block: *const c_void) -> usize;
    pub fn egb_pool_of(address: *const c_void) -> egb_pool;
    pub fn egb_heap_pool() -> egb_pool;
    pub fn egb_heap_purge() -> usize;
    pub fn egb_heap_trim(keep_bytes: usize) -> usize;
    pub fn egb_heap_measure(is_on: bool);
    pub fn egb_heap_guard_pages(which: *const c_char) -> egb_status;
    pub fn egb_heap_get_stats(out: *mut egb_heap_stats) -> egb_status;

    pub fn egb_report_write(folder: *const c_char) -> egb_status;
}

const _: () = assert!(size_of::<c_int>() == 4);
