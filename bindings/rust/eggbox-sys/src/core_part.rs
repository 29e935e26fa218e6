// SPDX-License-Identifier: MIT
//! base.h, misuse.h and fixed.h.
use core::ffi::{c_char, c_int, c_uint, c_void};

pub type egb_status = c_uint;
pub const EGB_OK: egb_status = 0;
pub const EGB_INVALID: egb_status = 1;
pub const EGB_NO_MEMORY: egb_status = 2;
pub const EGB_LIMIT: egb_status = 3;
pub const EGB_STALE: egb_status = 4;
pub const EGB_BUSY: egb_status = 5;
pub const EGB_CORRUPT: egb_status = 6;
pub const EGB_UNSUPPORTED: egb_status = 7;
pub const EGB_EMPTY: egb_status = 8;
pub const EGB_TIMED_OUT: egb_status = 9;
pub const EGB_CANCELLED: egb_status = 10;

pub type egb_misuse_kind = c_uint;
pub const EGB_MISUSE_NO_POOL: egb_misuse_kind = 1;
pub const EGB_MISUSE_FOREIGN: egb_misuse_kind = 2;
pub const EGB_MISUSE_INTERIOR: egb_misuse_kind = 3;
pub const EGB_MISUSE_NEVER_ALLOCATED: egb_misuse_kind = 4;
pub const EGB_MISUSE_DOUBLE_FREE: egb_misuse_kind = 5;
pub const EGB_MISUSE_OVERWRITTEN: egb_misuse_kind = 6;
pub const EGB_MISUSE_WRONG_POOL: egb_misuse_kind = 7;
pub const EGB_MISUSE_STALE: egb_misuse_kind = 8;
pub const EGB_MISUSE_OVERRUN: egb_misuse_kind = 9;
pub const EGB_MISUSE_UNDERRUN: egb_misuse_kind = 10;
pub const EGB_MISUSE_SEALED: egb_misuse_kind = 11;
pub const EGB_MISUSE_WRONG_SIZE: egb_misuse_kind = 12;

pub type egb_level = c_uint;
pub const EGB_LEVEL_DEFAULT: egb_level = 0;
pub const EGB_LEVEL_OFF: egb_level = 1;
pub const EGB_LEVEL_CHECK: egb_level = 2;
pub const EGB_LEVEL_GUARD: egb_level = 3;
pub const EGB_LEVEL_TRACK: egb_level = 4;
pub const EGB_LEVEL_PASSTHROUGH: egb_level = 5;
pub const EGB_LEVEL_SAMPLE: egb_level = 6;

pub const EGB_NO_INDEX: usize = usize::MAX;
pub const EGB_WORD_BYTES: usize = 4;

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct egb_history {
    pub level: egb_level,
    pub bytes: usize,
    pub damaged: isize,
    pub serial: u64,
    pub alloc_site: *const c_void,
    pub alloc_file: *const c_char,
    pub alloc_line: c_uint,
    pub alloc_thread: u32,
    pub free_site: *const c_void,
    pub alloc_stack: *const *const c_void,
    pub free_stack: *const *const c_void,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct egb_misuse_event {
    pub kind: egb_misuse_kind,
    pub pool_name: *const c_char,
    pub pool: *const c_void,
    pub address: *const c_void,
    pub block_index: usize,
    pub site: *const c_void,
    pub history: *const egb_history,
    pub stack: *const *const c_void,
}

pub type egb_misuse_fn =
    Option<unsafe extern "C" fn(event: *const egb_misuse_event, user: *mut c_void)>;

/// The field `side` of an `egb_fixed`.
#[repr(C)]
#[derive(Clone, Copy)]
pub union egb_fixed_side {
    pub live: *mut u32,
    pub hidden: u32,
    pub newest: *mut c_void,
}

/// Its fields are private to the library. All zero is a pool that was never initialised.
#[repr(C)]
pub struct egb_fixed {
    pub first: *mut u32,
    pub inverse: usize,
    pub side: egb_fixed_side,
    pub head: u32,
    pub bound: u32,
    pub limit: u32,
    pub reach: u32,
    pub stride: u32,
    pub checksum: u16,
    pub shift: u8,
    pub mode: u8,
}

unsafe extern "C" {
    pub fn egb_status_text(status: egb_status) -> *const c_char;
    pub fn egb_misuse_text(kind: egb_misuse_kind) -> *const c_char;
    pub fn egb_level_text(level: egb_level) -> *const c_char;

    pub fn egb_fixed_init(
        pool: *mut egb_fixed,
        region: *mut c_void,
        region_bytes: usize,
        block_bytes: usize,
    ) -> egb_status;
    pub fn egb_fixed_init_checked(
        pool: *mut egb_fixed,
        region: *mut c_void,
        region_bytes: usize,
        block_bytes: usize,
        live_bits: *mut c_void,
        live_bytes: usize,
    ) -> egb_status;
    pub fn egb_fixed_alloc(pool: *mut egb_fixed) -> *mut c_void;
    pub fn egb_fixed_free(pool: *mut egb_fixed, block: *mut c_void);
    pub fn egb_fixed_clear(pool: *mut egb_fixed);
    pub fn egb_fixed_owns(pool: *const egb_fixed, block: *const c_void) -> bool;
    pub fn egb_fixed_is_live(pool: *const egb_fixed, block: *const c_void) -> bool;
    pub fn egb_fixed_capacity(pool: *const egb_fixed) -> usize;
    pub fn egb_fixed_in_use(pool: *const egb_fixed) -> usize;
    pub fn egb_fixed_available(pool: *const egb_fixed) -> usize;
    pub fn egb_fixed_peak(pool: *const egb_fixed) -> usize;
    pub fn egb_fixed_whole(pool: *const egb_fixed) -> bool;
}

/// A row of the table in layout.c, for the test `layout`.
#[doc(hidden)]
#[repr(C)]
pub struct layout_row {
    pub name: *const c_char,
    pub value: u64,
}

unsafe extern "C" {
    #[doc(hidden)]
    pub fn egb_rust_layout_(count: *mut c_int) -> *const layout_row;
}
