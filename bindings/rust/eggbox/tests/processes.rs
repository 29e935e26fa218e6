// SPDX-License-Identifier: MIT
//! Frames between two processes: the test starts its own program once more.
#![cfg(target_os = "linux")]
use eggbox::{Access, Error, Handle, OnFull, SharedOptions, SharedPool};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const NAME: &str = "EGGBOX_TEST_POOL";
const FRAME_BYTES: usize = 100_000;
const FRAMES: u64 = 200;
const WAIT: Option<Duration> = Some(Duration::from_secs(60));

fn create(what: &str, count: usize, feed: usize) -> (String, SharedPool) {
    let name = format!("rust-{what}-{}", std::process::id());
    let options = SharedOptions::new(FRAME_BYTES, count)
        .name(&name)
        .feed(feed)
        .note_bytes(8)
        .on_full(OnFull::Wait(Duration::from_secs(60)));
    // SAFETY: the processes of this file write to no published frame.
    let pool = unsafe { options.create() }.unwrap();
    (name, pool)
}

fn start(test: &str, name: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env(NAME, name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn attach(access: Access) -> SharedPool {
    let name = std::env::var(NAME).expect("started by another test of this file");
    // SAFETY: as in create().
    unsafe { SharedPool::attach(&name, access) }.unwrap()
}

/// Waits for a line of the child that starts with `word`, and returns the rest of it.
fn line_of(child: &mut Child, word: &str) -> String {
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    lines.map(Result::unwrap).find_map(|line| line.strip_prefix(word).map(str::to_owned)).unwrap()
}

#[test]
fn each_frame_goes_to_the_other_process_and_its_block_comes_back() {
    let (name, pool) = create("take", 4, 2);
    let mut child = start("worker", &name);
    for number in 1..=FRAMES {
        // The feed keeps two frames. The worker may be about to take the oldest one, so at most one
        // other is in use when the next one comes.
        let mut frame = loop {
            match pool.alloc() {
                Ok(frame) if pool.stats().in_use <= 2 => break frame,
                _ => std::thread::sleep(Duration::from_micros(200)), // the worker is behind
            }
            assert!(child.try_wait().unwrap().is_none(), "the worker has ended");
        };
        frame.fill(number as u8);
        let view = frame.publish(&number.to_ne_bytes()).unwrap();
        assert_eq!((view.sequence(), view[FRAME_BYTES - 1]), (number, number as u8));
    }
    assert!(child.wait().unwrap().success());
    pool.recover();
    assert_eq!((pool.stats().in_use, pool.stats().published), (0, FRAMES));
}

#[test]
#[ignore = "a child of another test"]
fn worker() {
    let pool = attach(Access::ReadWrite);
    for number in 1..=FRAMES {
        let view = pool.take(WAIT).unwrap();
        assert_eq!(view.note(), number.to_ne_bytes());
        assert!(view.iter().all(|&byte| byte == number as u8));
    }
}

#[test]
fn a_handle_opens_its_frame_in_the_other_process() {
    let (name, pool) = create("handle", 2, 0);
    let mut frame = pool.alloc().unwrap();
    frame[7] = 77;
    let view = frame.share();
    let mut child = start("opener", &name);
    child.stdin.as_mut().unwrap().write_all(&view.handle().to_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    let handle = view.handle();
    drop(view);
    assert_eq!(pool.open(handle).unwrap_err(), Error::Stale);
}

#[test]
#[ignore = "a child of another test"]
fn opener() {
    let pool = attach(Access::ReadOnly);
    let mut bytes = [0; 16];
    std::io::Read::read_exact(&mut std::io::stdin(), &mut bytes).unwrap();
    // SAFETY: the bytes are those of the parent's handle.
    let view = pool.open(unsafe { Handle::from_bytes(bytes) }).unwrap();
    assert_eq!(view.clone()[7], 77);
    assert_eq!(pool.alloc().unwrap_err(), Error::Unsupported);
}

#[test]
fn what_a_killed_process_held_comes_back() {
    let (name, pool) = create("kill", 3, 0);
    let mut child = start("victim", &name);
    assert_eq!(line_of(&mut child, "holds "), "2");
    assert_eq!(pool.stats().in_use, 2);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(pool.recover(), 1);
    assert_eq!((pool.stats().in_use, pool.stats().recovered), (0, 1));
}

#[test]
#[ignore = "a child of another test"]
fn victim() {
    let pool = attach(Access::ReadWrite);
    let _frames = (pool.alloc().unwrap(), pool.alloc().unwrap());
    println!("\nholds 2");
    std::thread::sleep(Duration::from_secs(600));
}

#[test]
fn refusals_say_why_and_give_the_frame_back() {
    // SAFETY: no other process has this pool.
    let pool = unsafe { SharedOptions::new(100, 1).create() }.unwrap();
    let mut frame = pool.alloc().unwrap();
    assert_eq!(pool.alloc().unwrap_err(), Error::Busy);
    frame[0] = 1;
    let refused = frame.publish(b"").unwrap_err();
    assert_eq!((refused.error, refused.frame[0]), (Error::Unsupported, 1));
    assert_eq!(refused.frame.publish(b"too long").unwrap_err().error, Error::Invalid);
    assert_eq!(pool.stats().in_use, 0);
    // SAFETY: there is no such pool.
    let none = unsafe { SharedPool::attach("rust-none", Access::ReadOnly) };
    assert_eq!(none.unwrap_err(), Error::Stale);
}
