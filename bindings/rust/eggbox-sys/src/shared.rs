// SPDX-License-Identifier: MIT
//! shared.h.
use crate::egb_status;
use core::ffi::{c_char, c_int, c_uint, c_void};

/// An open pool; only behind a pointer.
#[repr(C)]
pub struct egb_shared {
    _private: [u8; 0],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct egb_frame {
    pub pool: u32,
    pub index: u32,
    pub generation: u64,
}

pub const EGB_SHARED_ATTACHMENTS_MAX: usize = 62;
pub const EGB_SHARED_NOTE_BYTES_MAX: usize = 64;
pub const EGB_SHARED_ABOUT_BYTES_MAX: usize = 256;
pub const EGB_SHARED_BLOCKS_MAX: usize = 16777216;
pub const EGB_SHARED_NAME_BYTES_MAX: usize = 200;
pub const EGB_SHARED_FOREVER: u64 = u64::MAX;
pub const EGB_SHARED_HELD_BY_FEED: u64 = 1 << 62;

pub type egb_shared_full = c_uint;
pub const EGB_SHARED_FAIL: egb_shared_full = 0;
pub const EGB_SHARED_WAIT: egb_shared_full = 1;
pub const EGB_SHARED_DROP_OLDEST: egb_shared_full = 2;

pub const EGB_SHARED_READ_ONLY: c_uint = 1;
pub const EGB_SHARED_PREFAULT: c_uint = 2;
pub const EGB_SHARED_HUGE_PAGES: c_uint = 4;

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct egb_shared_options {
    pub name: *const c_char,
    pub block_bytes: usize,
    pub block_align: usize,
    pub count: usize,
    pub feed_count: usize,
    pub note_bytes: usize,
    pub on_full: egb_shared_full,
    pub wait_ns: u64,
    pub permissions: c_uint,
    pub flags: c_uint,
    pub about: *const c_void,
    pub about_bytes: usize,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct egb_published {
    pub block: *mut c_void,
    pub frame: egb_frame,
    pub sequence: u64,
    pub missed: u64,
    pub note: [u8; EGB_SHARED_NOTE_BYTES_MAX],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct egb_shared_numbers {
    pub block_bytes: usize,
    pub stride_bytes: usize,
    pub count: usize,
    pub feed_count: usize,
    pub note_bytes: usize,
    pub bytes: usize,
    pub in_use: usize,
    pub only_feed: usize,
    pub attachments: usize,
    pub published: u64,
    pub dropped: u64,
    pub failures: u64,
    pub recovered: u64,
}

unsafe extern "C" {
    pub fn egb_shared_create(
        out: *mut *mut egb_shared,
        options: *const egb_shared_options,
    ) -> egb_status;
    pub fn egb_shared_attach(
        out: *mut *mut egb_shared,
        name: *const c_char,
        flags: c_uint,
    ) -> egb_status;
    pub fn egb_shared_attach_fd(out: *mut *mut egb_shared, fd: c_int, flags: c_uint) -> egb_status;
    pub fn egb_shared_fd(shared: *const egb_shared) -> c_int;
    pub fn egb_shared_close(shared: *mut egb_shared);
    pub fn egb_shared_alloc(shared: *mut egb_shared) -> *mut c_void;
    pub fn egb_shared_alloc_wait(
        shared: *mut egb_shared,
        out: *mut *mut c_void,
        timeout_ns: u64,
    ) -> egb_status;
    pub fn egb_shared_handle(shared: *const egb_shared, block: *const c_void) -> egb_frame;
    pub fn egb_shared_open(
        shared: *mut egb_shared,
        frame: egb_frame,
        out: *mut *mut c_void,
    ) -> egb_status;
    pub fn egb_shared_retain(shared: *mut egb_shared, block: *mut c_void);
    pub fn egb_shared_release(shared: *mut egb_shared, block: *mut c_void);
    pub fn egb_shared_publish(
        shared: *mut egb_shared,
        block: *mut c_void,
        note: *const c_void,
        sequence: *mut u64,
    ) -> egb_status;
    pub fn egb_shared_next(
        shared: *mut egb_shared,
        after: u64,
        timeout_ns: u64,
        out: *mut egb_published,
    ) -> egb_status;
    pub fn egb_shared_take(
        shared: *mut egb_shared,
        timeout_ns: u64,
        out: *mut egb_published,
    ) -> egb_status;
    pub fn egb_shared_latest(shared: *mut egb_shared, out: *mut egb_published) -> egb_status;
    pub fn egb_shared_cancel(shared: *mut egb_shared);
    pub fn egb_shared_recover(shared: *mut egb_shared) -> usize;
    pub fn egb_shared_stats(shared: *const egb_shared, out: *mut egb_shared_numbers) -> egb_status;
    pub fn egb_shared_about(shared: *const egb_shared, bytes: *mut usize) -> *const c_void;
    pub fn egb_shared_gc() -> usize;
}
