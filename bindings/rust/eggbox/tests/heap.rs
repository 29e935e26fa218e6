// SPDX-License-Identifier: MIT
//! The global allocator under threads, and each way to ask it for memory.
use eggbox::{Heap, Misuse, MisuseKind, on_misuse};
use std::alloc::{GlobalAlloc, Layout};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

#[global_allocator]
static HEAP: Heap = Heap;

static MISUSES: AtomicUsize = AtomicUsize::new(0);
static WRONG_SIZES: AtomicUsize = AtomicUsize::new(0);
static HANDLER: Mutex<()> = Mutex::new(());

fn count(event: &Misuse<'_>) {
    let counter = if event.kind == MisuseKind::WrongSize { &WRONG_SIZES } else { &MISUSES };
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Runs a test with the counting handler, one at a time; returns (other misuses, wrong sizes).
fn counted(test: impl FnOnce()) -> (usize, usize) {
    let _one = HANDLER.lock().unwrap();
    on_misuse(Some(count));
    MISUSES.store(0, Ordering::Relaxed);
    WRONG_SIZES.store(0, Ordering::Relaxed);
    test();
    on_misuse(None);
    (MISUSES.load(Ordering::Relaxed), WRONG_SIZES.load(Ordering::Relaxed))
}

/// Fills a block with bytes that tell its place.
unsafe fn fill(block: *mut u8, bytes: usize) {
    for place in 0..bytes {
        // SAFETY: the caller's block has so many bytes.
        unsafe { block.add(place).write(place as u8) };
    }
}

unsafe fn is_filled(block: *const u8, bytes: usize) -> bool {
    // SAFETY: the caller's block has so many bytes.
    (0..bytes).all(|place| unsafe { block.add(place).read() } == place as u8)
}

#[test]
fn vectors_strings_and_maps_of_many_threads() {
    let work = |seed: usize| {
        let mut map = HashMap::new();
        for number in 0..5000usize {
            let text = "x".repeat((number * seed) % 300);
            *map.entry(text).or_insert(0usize) += number;
            if number % 7 == 0 {
                map.retain(|text, _| text.len() % 3 != seed % 3);
            }
        }
        map
    };
    let result = counted(|| {
        let (send, receive) = std::sync::mpsc::channel();
        thread::scope(|scope| {
            for seed in 1..5 {
                let send = send.clone();
                scope.spawn(move || send.send((seed, work(seed))).unwrap());
            }
            drop(send);
            for (seed, map) in receive {
                assert_eq!(map, work(seed)); // and maps of other threads are freed here
            }
        });
    });
    assert_eq!(result, (0, 0));
    assert!(HEAP.stats().unwrap().small.allocations > 1000);
}

#[test]
fn realloc_keeps_the_bytes_and_the_size_check() {
    let sizes = [
        1,
        15,
        16,
        17,
        60,
        64,
        100,
        112,
        128,
        129,
        200,
        1000,
        1023,
        1024,
        1025,
        4096,
        5000,
        9000,
        57345,
        60000,
        65536,
        65537,
        70000,
        131072,
        200000,
        1 << 20,
        3 << 20,
    ];
    let result = counted(|| {
        for align in [1, 8, 16, 32, 64, 4096] {
            for from in sizes {
                for to in sizes {
                    move_once(align, from, to);
                }
            }
        }
    });
    assert_eq!(result, (0, 0));
}

fn move_once(align: usize, from: usize, to: usize) {
    let (old, new) = (
        Layout::from_size_align(from, align).unwrap(),
        Layout::from_size_align(to, align).unwrap(),
    );
    let marked = from.min(to).min(300);
    // SAFETY: each block is used with the layout that it has at the time.
    unsafe {
        let block = HEAP.alloc(old);
        assert_eq!(block as usize % align, 0);
        fill(block, marked);
        let block = HEAP.realloc(block, old, to);
        assert_eq!(block as usize % align, 0);
        assert!(is_filled(block, marked), "{align} {from} {to}");
        block.add(to - 1).write(1);
        HEAP.dealloc(block, new);
    }
}

#[test]
fn a_vector_that_grows_and_shrinks_step_by_step() {
    let result = counted(|| {
        let mut bytes: Vec<u8> = Vec::new();
        for step in 0..400_000usize {
            bytes.push(step as u8);
            if step % 9_973 == 0 {
                bytes.shrink_to_fit();
            }
        }
        while bytes.len() > 1 {
            bytes.truncate(bytes.len() * 9 / 10);
            bytes.shrink_to_fit();
            assert_eq!(bytes.last().copied(), Some((bytes.len() - 1) as u8));
        }
    });
    assert_eq!(result, (0, 0));
}

#[test]
fn zeroed_blocks_are_zero() {
    for align in [1, 64, 8192] {
        for bytes in [1, 100, 5000, 100_000, 2 << 20] {
            let layout = Layout::from_size_align(bytes, align).unwrap();
            // SAFETY: each block is used with its layout.
            unsafe {
                let dirty = HEAP.alloc(layout);
                dirty.write_bytes(0xff, bytes);
                HEAP.dealloc(dirty, layout);
                let block = HEAP.alloc_zeroed(layout);
                assert_eq!(block as usize % align, 0);
                let zeros = std::slice::from_raw_parts(block, bytes);
                assert!(zeros.iter().all(|&byte| byte == 0), "{align} {bytes}");
                HEAP.dealloc(block, layout);
            }
        }
    }
}

#[test]
fn requests_that_no_system_can_serve_are_null() {
    let layout = Layout::from_size_align(isize::MAX as usize - 4095, 4096).unwrap();
    // SAFETY: a refused request has no block.
    assert!(unsafe { HEAP.alloc(layout) }.is_null());
    let mut bytes: Vec<u8> = Vec::new();
    assert!(bytes.try_reserve(isize::MAX as usize).is_err());
}

#[test]
fn a_wrong_layout_and_a_second_free_are_reported() {
    let result = counted(|| {
        let right = Layout::from_size_align(100, 8).unwrap();
        let wrong = Layout::from_size_align(1000, 8).unwrap();
        // SAFETY: none: the two faults are what the library has to find. It refuses the second.
        unsafe {
            let block = HEAP.alloc(right);
            HEAP.dealloc(block, wrong);
            HEAP.dealloc(block, right);
        }
    });
    assert_eq!(result, (1, 1));
}

#[test]
fn values_of_thread_locals_are_freed_at_the_end_of_threads() {
    thread_local!(static KEPT: Mutex<Vec<String>> = const { Mutex::new(Vec::new()) });
    let result = counted(|| {
        for _ in 0..20 {
            thread::spawn(|| {
                KEPT.with(|kept| kept.lock().unwrap().push("kept".repeat(10)));
            })
            .join()
            .unwrap();
        }
    });
    assert_eq!(result, (0, 0));
}
