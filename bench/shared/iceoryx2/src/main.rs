// SPDX-License-Identifier: MIT
//! Frames from one process to others through iceoryx2, as ../processes.cpp does it.
//!
//! usage: iceoryx2-frames cycle BYTES ROUNDS
//!        iceoryx2-frames wake BYTES FRAMES READERS

use iceoryx2::prelude::*;
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const FRAMES_MOST: usize = 8;
const WARM_UP: usize = 20;
const CYCLES_ROUND: usize = 1000;

type Outcome<T> = Result<T, Box<dyn Error>>;
type Frames =
    iceoryx2::service::port_factory::publish_subscribe::PortFactory<ipc::Service, [u8], ()>;
type Writer = iceoryx2::port::publisher::Publisher<ipc::Service, [u8], ()>;
type Reader = iceoryx2::port::subscriber::Subscriber<ipc::Service, [u8], ()>;
type Events = iceoryx2::service::port_factory::event::PortFactory<ipc::Service>;

#[repr(C)]
struct Moment {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, out: *mut Moment) -> i32;
}

/// The clock that all processes share.
fn now_ns() -> u64 {
    let mut now = Moment {
        seconds: 0,
        nanoseconds: 0,
    };
    unsafe { clock_gettime(1, &mut now) };
    (now.seconds * 1_000_000_000 + now.nanoseconds) as u64
}

fn faults_so_far() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(") ").next().unwrap_or("").split(' ').collect();
    fields[7].parse::<u64>().unwrap_or(0) + fields[9].parse::<u64>().unwrap_or(0)
}

fn open(name: &str, readers: usize) -> Outcome<(Node<ipc::Service>, Frames, Events)> {
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    let frames = node
        .service_builder(&name.try_into()?)
        .publish_subscribe::<[u8]>()
        .subscriber_max_buffer_size(FRAMES_MOST / 2)
        .max_subscribers(readers)
        .open_or_create()?;
    let events = node
        .service_builder(&name.try_into()?)
        .event()
        .open_or_create()?;
    Ok((node, frames, events))
}

fn writer_of(frames: &Frames, bytes: usize) -> Outcome<Writer> {
    Ok(frames
        .publisher_builder()
        .initial_max_slice_len(bytes)
        .create()?)
}

fn send(writer: &Writer, bytes: usize, number: usize) -> Outcome<()> {
    let mut sample = writer.loan_slice_uninit(bytes)?;
    let place = sample.payload_mut();
    for at in (4096..bytes).step_by(4096) {
        place[at].write(1);
    }
    let words = [(number as u64).to_ne_bytes(), now_ns().to_ne_bytes()];
    for (at, byte) in words.as_flattened().iter().enumerate() {
        place[at].write(*byte);
    }
    unsafe { sample.assume_init() }.send()?; // the rest is whatever it was
    Ok(())
}

fn cycles(name: &str, bytes: usize, rounds: usize) -> Outcome<()> {
    let (_node, frames, _) = open(name, 1)?;
    let writer = writer_of(&frames, bytes)?;
    let reader = frames.subscriber_builder().create()?;
    let mut times = Vec::new();
    for _ in 0..=rounds {
        let start = Instant::now();
        for _ in 0..CYCLES_ROUND {
            let sample = writer.loan_slice_uninit(bytes)?;
            unsafe { sample.assume_init() }.send()?;
            drop(reader.receive()?.ok_or("nothing came")?);
        }
        times.push(start.elapsed().as_nanos() as f64 / CYCLES_ROUND as f64);
    }
    times.remove(0);
    times.sort_by(f64::total_cmp);
    println!("{:.0} {:.0}", times[0], times[times.len() / 2]);
    Ok(())
}

fn word_at(frame: &[u8], at: usize) -> Outcome<u64> {
    Ok(u64::from_ne_bytes(frame[at..at + 8].try_into()?))
}

/// Prints "ready", then the page faults, and a line for each frame.
fn read(name: &str, last: usize, readers: usize) -> Outcome<()> {
    let (_node, frames, events) = open(name, readers)?;
    let reader: Reader = frames.subscriber_builder().create()?;
    let listener = events.listener_builder().create()?;
    let mut waits = Vec::new();
    let mut before = 0;
    let mut number = 0;
    println!("ready");
    while number < last {
        listener.blocking_wait(|_| {})?;
        while let Some(sample) = reader.receive()? {
            let now = now_ns();
            if number < WARM_UP {
                before = faults_so_far();
            } else {
                waits.push(now - word_at(&sample, 8)?);
            }
            number = word_at(&sample, 0)? as usize;
            for at in (4096..sample.len()).step_by(4096) {
                std::hint::black_box(sample[at]);
            }
        }
    }
    println!("{}", faults_so_far() - before);
    for wait in waits {
        println!("{wait}");
    }
    Ok(())
}

fn wakes(name: &str, bytes: usize, frames_wanted: usize, readers: usize) -> Outcome<()> {
    let (_node, frames, events) = open(name, readers)?;
    let writer = writer_of(&frames, bytes)?;
    let notifier = events.notifier_builder().create()?;
    let mut pipes = Vec::new();
    for _ in 0..readers {
        let mut child = Command::new(std::env::current_exe()?)
            .args([
                "read",
                name,
                &(WARM_UP + frames_wanted - 1).to_string(),
                &readers.to_string(),
            ])
            .stdout(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("no pipe")?).lines();
        lines.next().ok_or("no reader")??;
        pipes.push((child, lines));
    }
    let mut faults = 0;
    for number in 0..WARM_UP + frames_wanted {
        if number == WARM_UP {
            faults = faults_so_far();
        }
        std::thread::sleep(Duration::from_millis(2));
        send(&writer, bytes, number)?;
        notifier.notify()?;
    }
    faults = faults_so_far() - faults;
    let mut waits = Vec::new();
    for (mut child, mut lines) in pipes {
        faults += lines.next().ok_or("no faults")??.parse::<u64>()?;
        for line in lines {
            waits.push(line?.parse::<u64>()?);
        }
        child.wait()?;
    }
    waits.sort_unstable();
    let part = |percent: usize| waits[(waits.len() - 1) * percent / 100] as f64 / 1000.0;
    let rate = faults as f64 / frames_wanted as f64;
    println!("{:.1} {:.1} {:.1} {rate:.2}", part(50), part(90), part(99));
    Ok(())
}

fn main() -> Outcome<()> {
    set_log_level(LogLevel::Error);
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| {
        words
            .get(at)
            .and_then(|word| word.parse::<usize>().ok())
            .unwrap_or(1)
    };
    let name = format!("eggbox-bench-{}", std::process::id());
    match words.first().map(String::as_str) {
        Some("cycle") => cycles(&name, number(1), number(2)),
        Some("wake") => wakes(&name, number(1), number(2), number(3)),
        Some("read") => read(&words[1], number(2), number(3)),
        _ => Err("usage: iceoryx2-frames cycle|wake BYTES ROUNDS|FRAMES [READERS]".into()),
    }
}
