// SPDX-License-Identifier: MIT
//! The misuse handler of a program with the core alone: the library leaves it to the program. It
//! has the same two functions as the hosted library.
use crate::{egb_misuse_event, egb_misuse_fn};
use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, Ordering};

static HANDLER: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());
static USER: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Called by the core for each misuse. Without a handler the misused call is refused in silence.
///
/// # Safety
///
/// `event` is the core's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn egb_misuse(event: *const egb_misuse_event) {
    let handler = HANDLER.load(Ordering::Acquire);
    if !handler.is_null() {
        // SAFETY: only egb_misuse_set_handler() stores here, and it stores a function of this type.
        let handler: unsafe extern "C" fn(*const egb_misuse_event, *mut c_void) =
            unsafe { core::mem::transmute(handler) };
        // SAFETY: the event is valid during the call.
        unsafe { handler(event, USER.load(Ordering::Acquire)) };
    }
}

/// Sets the function that gets every misuse from now on. `None`: no function.
///
/// # Safety
///
/// `handler` may be called with `user` at any time. No other thread is inside a call of a pool.
pub unsafe extern "C" fn egb_misuse_set_handler(handler: egb_misuse_fn, user: *mut c_void) {
    let function = handler.map_or(core::ptr::null_mut(), |function| function as *mut ());
    HANDLER.store(core::ptr::null_mut(), Ordering::Release);
    USER.store(user, Ordering::Release);
    HANDLER.store(function, Ordering::Release);
}
