// SPDX-License-Identifier: MIT
//! Pools: limits, budgets, parents, threads, values that are dropped once.
use eggbox::{Boxed, Error, FixedPool, Full, Level, OwnedBox, Pool, PoolOptions};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;

fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}

#[test]
fn pools_and_boxes_go_to_threads_as_their_values_do() {
    is_send::<Pool<Rc<u8>>>();
    is_sync::<Pool<Rc<u8>>>();
    is_send::<OwnedBox<u8>>();
    is_sync::<OwnedBox<u8>>();
    is_send::<FixedPool<u8, 1>>();
}

#[test]
fn each_value_is_dropped_once() {
    let witness = Rc::new(());
    let fixed = FixedPool::<Rc<()>, 4>::new();
    let pool = Pool::new().unwrap();
    {
        let _dropped = fixed.alloc(witness.clone()).unwrap();
        let _dropped_too = pool.alloc(witness.clone()).unwrap();
        let moved_out = Boxed::into_inner(pool.alloc_owned(witness.clone()).unwrap());
        assert_eq!(Rc::strong_count(&moved_out), 4);
    }
    assert_eq!(Rc::strong_count(&witness), 1);
    assert_eq!((fixed.in_use(), pool.stats().unwrap().in_use), (0, 0));
}

#[test]
fn a_drop_that_panics_gives_its_block_back() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("in drop");
        }
    }
    let pool = FixedPool::<Panics, 1>::new();
    let boxed = pool.alloc(Panics).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(boxed))).is_err());
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn a_fixed_pool_gives_all_its_blocks_whatever_their_size() {
    fn fill<T: Copy + PartialEq + std::fmt::Debug>(value: T) {
        let pool = FixedPool::<T, 5>::new();
        for _ in 0..3 {
            let boxes: Vec<_> = (0..5).map(|_| pool.alloc(value).unwrap()).collect();
            assert!(pool.alloc(value).is_err());
            for one in &boxes {
                assert_eq!(**one, value);
                assert_eq!((&**one as *const T).addr() % align_of::<T>(), 0);
            }
        }
        assert_eq!((pool.in_use(), pool.peak()), (0, 5));
    }
    #[repr(align(64))]
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Line(u8);
    fill(());
    fill(1u8);
    fill([1u8; 3]);
    fill([1u8; 5]);
    fill(1u32);
    fill(1u64);
    fill([7u64; 100]);
    fill(Line(3));
}

#[test]
fn a_fixed_pool_that_moved_starts_anew() {
    let pool = Box::new(FixedPool::<u64, 3>::new());
    std::mem::forget(pool.alloc(1).unwrap());
    assert_eq!(pool.in_use(), 1);
    let moved = *pool;
    let boxes: Vec<_> = (0..3).map(|number| moved.alloc(number).unwrap()).collect();
    assert_eq!(boxes.iter().map(|one| **one).sum::<u64>(), 3);
}

#[test]
fn a_limit_is_exact_and_the_value_comes_back() {
    let pool = PoolOptions::new().max_blocks(100).build().unwrap();
    let boxes: Vec<_> = (0..100).map(|number| pool.alloc(number.to_string()).unwrap()).collect();
    let Err(Full(back)) = pool.alloc("one more".to_string()) else { panic!("over the limit") };
    assert_eq!(back, "one more");
    assert_eq!(pool.stats().unwrap().failures, 1);
    drop(boxes);
    assert!(pool.alloc(back).is_ok());
}

#[test]
fn a_parents_budget_is_for_its_children_too() {
    let parent: Pool<u8> = PoolOptions::new().name("parent").budget_bytes(1 << 20).build().unwrap();
    let child: Pool<[u8; 1000]> = PoolOptions::new().parent(&parent).build().unwrap();
    let boxes: Vec<_> = std::iter::from_fn(|| child.alloc([1; 1000]).ok()).collect();
    assert!((500..1100).contains(&boxes.len()), "{}", boxes.len());
    let sums = parent.subtree_stats().unwrap();
    assert_eq!((sums.pools, sums.in_use, sums.name.as_str()), (2, boxes.len(), "parent"));
}

#[test]
fn a_parent_stays_as_long_as_its_children() {
    let parent: Pool<u8> = Pool::new().unwrap();
    let child: Pool<String> = PoolOptions::new().parent(&parent).build().unwrap();
    drop(parent);
    let kept = child.alloc_owned("kept".to_string()).unwrap();
    drop(child);
    assert_eq!(*kept, "kept");
}

#[test]
fn impossible_options_are_refused() {
    #[repr(align(8192))]
    struct Wide(#[expect(dead_code)] u8);
    assert_eq!(Pool::<Wide>::new().unwrap_err(), Error::Invalid);
    let too_much = PoolOptions::new().max_blocks(1).reserve(2).build::<u8>();
    assert_eq!(too_much.unwrap_err(), Error::Limit);
    assert_eq!(PoolOptions::new().name("a\0b").build::<u8>().unwrap_err(), Error::Invalid);
}

#[test]
fn every_level_serves() {
    let levels = [Level::Off, Level::Check, Level::Guard, Level::Track, Level::Passthrough];
    for level in levels {
        let pool = PoolOptions::new().level(level).cache_line().build().unwrap();
        let boxes: Vec<_> = (0..300u64).map(|number| pool.alloc(number).unwrap()).collect();
        assert!((0..300).eq(boxes.iter().map(|one| **one)), "{level:?}");
    }
}

#[test]
fn boxes_are_freed_by_other_threads() {
    let pool: Pool<[usize; 8]> = Pool::new().unwrap();
    let (send, receive) = mpsc::channel::<OwnedBox<[usize; 8]>>();
    thread::scope(|scope| {
        for thread in 0..3 {
            let (send, pool) = (send.clone(), &pool);
            scope.spawn(move || {
                for number in 0..2000 {
                    send.send(pool.alloc_owned([thread * 10_000 + number; 8]).unwrap()).unwrap();
                }
            });
        }
        drop(send);
        let sum: usize = receive.into_iter().map(|one| one[7]).sum();
        assert_eq!(sum, 3 * (1999 * 2000 / 2) + 2000 * 30_000);
    });
    let stats = pool.stats().unwrap();
    assert_eq!((stats.in_use, stats.allocations, stats.frees), (0, 6000, 6000));
}
