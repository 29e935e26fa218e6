#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures a 1080p frame from one Python process to another, until the other has a view of it.

usage: frames.py [FRAMES]      needs the package eggbox: pip install ./bindings/python
                               the package iceoryx2 takes part if it is there

A frame goes when the reader waits for it, so each time has the wake of a sleeping process in it.
Each way writes and reads the same single bytes; filling the picture is the camera's work and is
not counted, a copy that the way needs is. Page faults are those of both processes, by getrusage,
over the measured frames.
"""

import ctypes
import multiprocessing
import os
import resource
import statistics
import sys
import time
from multiprocessing import shared_memory

import eggbox
import numpy as np

try:
    import iceoryx2
except ImportError:
    iceoryx2 = None

SHAPE = (1080, 1920, 3)
WARM_UP = 20


def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def answer(pipe, frames, receive):
    """Receives frames, and tells for each when its view was there."""
    for number in range(WARM_UP + frames):
        if number == WARM_UP:
            before = faults()
        view, value = receive()
        now = time.perf_counter_ns()
        assert value == number % 251, (value, number)
        pipe.send(now)
        del view
    pipe.send(faults() - before)


def with_eggbox(pipe, frames, name):
    pool = eggbox.attach(name)

    def receive():
        view = pool.next(10).array
        return view, int(view[540, 960, 1])

    answer(pipe, frames, receive)


def with_queue(pipe, frames, queue):
    def receive():
        view = queue.get()
        return view, int(view[540, 960, 1])

    answer(pipe, frames, receive)


def with_copy(pipe, frames, queue, name):
    memory = shared_memory.SharedMemory(name)
    shared = np.ndarray(SHAPE, np.uint8, memory.buf)
    own = np.empty(SHAPE, np.uint8)

    def receive():
        queue.recv_bytes()
        np.copyto(own, shared)  # the writer has one buffer
        return own, int(own[540, 960, 1])

    answer(pipe, frames, receive)


def open_iceoryx2(name):
    """A node, which keeps the rest, and the services for frames and for their wakes."""
    iceoryx2.set_log_level(iceoryx2.LogLevel.Error)
    node = iceoryx2.NodeBuilder.new().create(iceoryx2.ServiceType.Ipc)
    service = node.service_builder(iceoryx2.ServiceName.new(name))
    frames = service.publish_subscribe(iceoryx2.Slice[ctypes.c_uint8]).open_or_create()
    service = node.service_builder(iceoryx2.ServiceName.new(name))
    return node, frames, service.event().open_or_create()


def view_of_slice(pixels):
    """A NumPy view of a frame of iceoryx2, which has an address and no buffer."""
    memory = (ctypes.c_uint8 * pixels.number_of_elements).from_address(pixels.data_ptr)
    return np.frombuffer(memory, np.uint8).reshape(SHAPE)


def with_iceoryx2(pipe, frames, name):
    node, service, events = open_iceoryx2(name)
    subscriber = service.subscriber_builder().create()
    listener = events.listener_builder().create()
    pipe.send("ready")

    def receive():
        listener.blocking_wait()
        receive.sample = subscriber.receive()  # keeps the frame while its view is read
        view = view_of_slice(receive.sample.payload())
        return view, int(view[540, 960, 1])

    answer(pipe, frames, receive)
    del node


def measure(frames, target, args, send, method="fork"):
    """Returns the microseconds of each frame, and the page faults per frame of both sides."""
    context = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    reader = context.Process(target=target, args=(theirs, frames, *args))
    reader.start()
    if method == "spawn":
        ours.recv()
    times = []
    for number in range(WARM_UP + frames):
        if number == WARM_UP:
            before = faults()
        time.sleep(0.002)  # the reader sleeps by now
        start = send(number % 251)
        times.append((ours.recv() - start) / 1000)
    own = faults() - before
    both = own + ours.recv()
    reader.join()
    return times[WARM_UP:], both / frames


def run_eggbox(frames):
    name = f"bench-{os.getpid()}"
    with eggbox.FramePool(name, shape=SHAPE, count=8, keep=4) as pool:

        def send(value):
            with pool.alloc() as frame:
                frame.array[540, 960, 1] = value
                start = time.perf_counter_ns()
                frame.publish()
            return start

        return measure(frames, with_eggbox, (name,), send)


def run_iceoryx2(frames):
    name = f"bench-{os.getpid()}"
    node, service, events = open_iceoryx2(name)
    size = int(np.prod(SHAPE))
    publisher = service.publisher_builder().initial_max_slice_len(size).create()
    notifier = events.notifier_builder().create()

    def send(value):
        sample = publisher.loan_slice_uninit(size)
        view_of_slice(sample.payload())[540, 960, 1] = value
        start = time.perf_counter_ns()
        sample.assume_init().send()
        notifier.notify()
        return start

    try:
        return measure(frames, with_iceoryx2, (name,), send, "spawn")
    finally:
        del node


def run_queue(frames):
    queue = multiprocessing.get_context("fork").Queue()

    def send(value):
        picture[540, 960, 1] = value
        start = time.perf_counter_ns()
        queue.put(picture)
        return start

    picture = np.zeros(SHAPE, np.uint8)
    return measure(frames, with_queue, (queue,), send)


def run_copy(frames):
    memory = shared_memory.SharedMemory(create=True, size=int(np.prod(SHAPE)))
    shared = np.ndarray(SHAPE, np.uint8, memory.buf)
    picture = np.zeros(SHAPE, np.uint8)
    there, here = multiprocessing.get_context("fork").Pipe(duplex=False)

    def send(value):
        picture[540, 960, 1] = value
        start = time.perf_counter_ns()
        np.copyto(shared, picture)
        here.send_bytes(b"x")
        return start

    try:
        return measure(frames, with_copy, (there, memory.name), send)
    finally:
        del shared, send
        memory.close()
        memory.unlink()


def main(words):
    frames = int(words[0]) if words else 500
    print(f"{frames} frames of 1920 x 1080 x 3 bytes; {os.cpu_count()} processors, load "
          f"{os.getloadavg()[0]:.1f}; Python {sys.version.split()[0]}")
    print(f"{'':42} {'median us':>10} {'90 %':>10} {'99 %':>10} {'faults/frame':>13}")
    if iceoryx2 is None:
        print("no iceoryx2: pip install iceoryx2")
    ways = [("iceoryx2, view", run_iceoryx2)] if iceoryx2 is not None else []
    for what, run in (("eggbox, view", run_eggbox),
                      *ways,
                      ("shared_memory, copy in, copy out, Pipe", run_copy),
                      ("multiprocessing.Queue", run_queue)):
        times, fault_rate = run(frames if run is not run_queue else max(frames // 5, 10))
        cuts = statistics.quantiles(times, n=100)
        print(f"{what:42} {statistics.median(times):10.1f} {cuts[89]:10.1f} {cuts[98]:10.1f} "
              f"{fault_rate:13.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
