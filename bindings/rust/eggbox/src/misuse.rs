// SPDX-License-Identifier: MIT
//! What the library tells of misuse: the faults of `unsafe` code and of C.
use core::ffi::{CStr, c_void};
use eggbox_sys as sys;

/// The kind of a misuse. Safe code can cause none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MisuseKind {
    /// A pool that was never made.
    NoPool,
    /// A free of memory that is not the pool's.
    Foreign,
    /// A free of an address inside a block.
    Interior,
    /// A free of a block that was never handed out.
    NeverAllocated,
    /// A free of a free block.
    DoubleFree,
    /// A write to a free block.
    Overwritten,
    /// A free of another pool's block.
    WrongPool,
    /// A handle of a pool that is gone.
    Stale,
    /// A write behind the end of a block.
    Overrun,
    /// A write before the start of a block.
    Underrun,
    /// A request that the frozen library has no memory for.
    Sealed,
    /// A `dealloc` with another layout than that of the `alloc`.
    WrongSize,
    /// A kind that this version of the crate does not know.
    Other,
}

impl MisuseKind {
    fn of(kind: sys::egb_misuse_kind) -> Self {
        use MisuseKind::*;
        match kind {
            sys::EGB_MISUSE_NO_POOL => NoPool,
            sys::EGB_MISUSE_FOREIGN => Foreign,
            sys::EGB_MISUSE_INTERIOR => Interior,
            sys::EGB_MISUSE_NEVER_ALLOCATED => NeverAllocated,
            sys::EGB_MISUSE_DOUBLE_FREE => DoubleFree,
            sys::EGB_MISUSE_OVERWRITTEN => Overwritten,
            sys::EGB_MISUSE_WRONG_POOL => WrongPool,
            sys::EGB_MISUSE_STALE => Stale,
            sys::EGB_MISUSE_OVERRUN => Overrun,
            sys::EGB_MISUSE_UNDERRUN => Underrun,
            sys::EGB_MISUSE_SEALED => Sealed,
            sys::EGB_MISUSE_WRONG_SIZE => WrongSize,
            _ => Other,
        }
    }
}

/// One misuse, as the handler of [`on_misuse`] gets it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Misuse<'a> {
    /// Which fault.
    pub kind: MisuseKind,
    /// The fault in a few words.
    pub text: &'a str,
    /// The pool's name, if it has one in UTF-8.
    pub pool: Option<&'a str>,
    /// The address that was freed, or written to.
    pub address: *const c_void,
    /// A code address in the caller, or null.
    pub site: *const c_void,
}

/// Sets the function that gets every misuse. The call at fault is refused when it returns; the
/// pool is as before. `None` is the default again: with `hosted` a report on stderr, once for each
/// site; without, silence.
///
/// The function must not panic: a panic ends the process. It may be set at any time; a misuse at
/// that very moment in another thread may still reach the function set before, or none.
///
/// ```
/// eggbox::on_misuse(Some(|event| panic!("{}", event.text)));
/// eggbox::on_misuse(None);
/// ```
pub fn on_misuse(handler: Option<fn(&Misuse<'_>)>) {
    let (function, user): (sys::egb_misuse_fn, _) = match handler {
        Some(handler) => (Some(pass_on), handler as *mut c_void),
        None => (None, core::ptr::null_mut()),
    };
    // SAFETY: pass_on() takes `user` for the function that it is.
    unsafe { sys::egb_misuse_set_handler(function, user) };
}

unsafe extern "C" fn pass_on(event: *const sys::egb_misuse_event, user: *mut c_void) {
    // Without `hosted` another thread may just be between the two stores that set no function.
    if user.is_null() {
        return;
    }
    // SAFETY: on_misuse() made `user` of a function of this type. The event and its strings are
    // valid during the call.
    let (handler, event, text) = unsafe {
        let handler: fn(&Misuse<'_>) = core::mem::transmute(user);
        (handler, &*event, CStr::from_ptr(sys::egb_misuse_text((*event).kind)))
    };
    // SAFETY: as above.
    let name = (!event.pool_name.is_null()).then(|| unsafe { CStr::from_ptr(event.pool_name) });
    handler(&Misuse {
        kind: MisuseKind::of(event.kind),
        text: text.to_str().unwrap_or("misuse"),
        pool: name.and_then(|name| name.to_str().ok()),
        address: event.address,
        site: event.site,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_that_is_just_taken_away_is_not_called() {
        // SAFETY: without a function the event is not looked at.
        unsafe { pass_on(core::ptr::null(), core::ptr::null_mut()) };
    }
}
