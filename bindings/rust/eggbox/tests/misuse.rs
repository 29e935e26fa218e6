// SPDX-License-Identifier: MIT
//! Faults of unsafe code reach the handler, with the whole library and with the core alone.
use eggbox::{FixedPool, Misuse, MisuseKind, on_misuse};
use eggbox_sys as sys;
use std::sync::Mutex;

static SEEN: Mutex<Vec<(MisuseKind, usize)>> = Mutex::new(Vec::new());

fn note(event: &Misuse<'_>) {
    assert!(!event.text.is_empty());
    SEEN.lock().unwrap().push((event.kind, event.address.addr()));
}

#[test]
fn a_wrong_free_is_refused_and_told() {
    let mut region = [0u64; 8];
    let outside = 0u64;
    on_misuse(Some(note));
    // SAFETY: the region outlives the pool. The two faults are refused, which is the test.
    let (block, whole, in_use) = unsafe {
        let mut pool: sys::egb_fixed = std::mem::zeroed();
        let bytes = size_of_val(&region);
        assert_eq!(sys::egb_fixed_init(&mut pool, region.as_mut_ptr().cast(), bytes, 8), 0);
        let block = sys::egb_fixed_alloc(&mut pool);
        sys::egb_fixed_free(&mut pool, block);
        sys::egb_fixed_free(&mut pool, block);
        sys::egb_fixed_free(&mut pool, (&raw const outside).cast_mut().cast());
        (block, sys::egb_fixed_whole(&pool), sys::egb_fixed_in_use(&pool))
    };
    on_misuse(None);
    assert!(whole && in_use == 0);
    let expected = [
        (MisuseKind::DoubleFree, block.addr()),
        (MisuseKind::Foreign, (&raw const outside).addr()),
    ];
    assert_eq!(*SEEN.lock().unwrap(), expected);
}

#[test]
fn a_fixed_pool_is_its_blocks_and_one_small_struct() {
    assert_eq!(size_of::<FixedPool<[u8; 64], 100>>(), 6400 + size_of::<sys::egb_fixed>());
    assert_eq!(size_of::<FixedPool<u8, 2>>(), 8 + size_of::<sys::egb_fixed>());
}
