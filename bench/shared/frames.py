#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures a frame from one Python process to another, until the other has a view of it.

usage: frames.py [FRAMES [SHAPE...]]    needs the package eggbox: pip install ./bindings/python
                                        the package iceoryx2 takes part if it is there

A shape of bytes is 1080x1920x3, which is the default, or 64, or another one. First the cost of the
calls: alloc, publish, next, view and release, both ends in one thread. Then a frame goes when the
reader waits for it, so each time has the wake of a sleeping process in it.
Each way writes and reads the same single bytes; filling the picture is the camera's work and is
not counted, a copy that the way needs is. Page faults are those of both processes, by getrusage,
over the measured frames.
"""

import ctypes
import math
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
CONTEXT = multiprocessing.get_context("spawn")
WARM_UP = 20
CYCLES_ROUND, CYCLE_ROUNDS = 1000, 15


def middle_of(shape):
    return tuple(length // 2 for length in shape)


def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def answer(pipe, frames, receive):
    """Receives frames, and tells for each when its view was there."""
    pipe.send("ready")
    for number in range(WARM_UP + frames):
        if number == WARM_UP:
            before = faults()
        view, value = receive()
        now = time.perf_counter_ns()
        assert value == number % 251, (value, number)
        pipe.send(now)
        del view
    pipe.send(faults() - before)


def with_eggbox(pipe, frames, shape, name):
    pool = eggbox.attach(name)
    middle = middle_of(shape)

    def receive():
        view = pool.next(10).array
        return view, int(view[middle])

    answer(pipe, frames, receive)


def with_queue(pipe, frames, shape, queue):
    middle = middle_of(shape)

    def receive():
        view = queue.get()
        return view, int(view[middle])

    answer(pipe, frames, receive)


def with_copy(pipe, frames, shape, queue, name):
    memory = shared_memory.SharedMemory(name)
    shared = np.ndarray(shape, np.uint8, memory.buf)
    own = np.empty(shape, np.uint8)
    middle = middle_of(shape)

    def receive():
        queue.recv_bytes()
        np.copyto(own, shared)  # the writer has one buffer
        return own, int(own[middle])

    answer(pipe, frames, receive)


def open_iceoryx2(name):
    """A node, which keeps the rest, and the services for frames and for their wakes."""
    iceoryx2.set_log_level(iceoryx2.LogLevel.Error)
    node = iceoryx2.NodeBuilder.new().create(iceoryx2.ServiceType.Ipc)
    service = node.service_builder(iceoryx2.ServiceName.new(name))
    frames = service.publish_subscribe(iceoryx2.Slice[ctypes.c_uint8]).open_or_create()
    service = node.service_builder(iceoryx2.ServiceName.new(name))
    return node, frames, service.event().open_or_create()


def view_of_slice(pixels, shape):
    """A NumPy view of a frame of iceoryx2, which has an address and no buffer."""
    memory = (ctypes.c_uint8 * pixels.number_of_elements).from_address(pixels.data_ptr)
    return np.frombuffer(memory, np.uint8).reshape(shape)


def with_iceoryx2(pipe, frames, shape, name):
    node, service, events = open_iceoryx2(name)
    subscriber = service.subscriber_builder().create()
    listener = events.listener_builder().create()
    middle = middle_of(shape)

    def receive():
        listener.blocking_wait()
        receive.sample = subscriber.receive()  # keeps the frame while its view is read
        view = view_of_slice(receive.sample.payload(), shape)
        return view, int(view[middle])

    answer(pipe, frames, receive)
    del node


def measure(frames, target, args, send):
    """Returns the microseconds of each frame, and the page faults per frame of both sides.

    The reader is no fork of this process: each page that one of these writes to first is a fault.
    """
    ours, theirs = CONTEXT.Pipe()
    reader = CONTEXT.Process(target=target, args=(theirs, frames, *args))
    reader.start()
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


def rounds_of(cycle):
    """The fastest and the median round of a cycle, in microseconds for one."""
    times = []
    for _ in range(CYCLE_ROUNDS):
        start = time.perf_counter_ns()
        for _ in range(CYCLES_ROUND):
            cycle()
        times.append((time.perf_counter_ns() - start) / 1000 / CYCLES_ROUND)
    return min(times), statistics.median(times)


def cycle_eggbox(shape):
    with eggbox.FramePool(shape=shape, count=8, keep=4) as pool:
        reader = eggbox.attach_fd(pool.fileno())

        def cycle():
            with pool.alloc() as frame:
                frame.publish()
            with reader.next(0) as seen:
                assert seen.array is not None

        return rounds_of(cycle)


def cycle_iceoryx2(shape):
    node, service, _ = open_iceoryx2(f"bench-{os.getpid()}-cycle")
    size = math.prod(shape)
    publisher = service.publisher_builder().initial_max_slice_len(size).create()
    subscriber = service.subscriber_builder().create()

    def cycle():
        publisher.loan_slice_uninit(size).assume_init().send()
        sample = subscriber.receive()
        assert view_of_slice(sample.payload(), shape) is not None

    try:
        return rounds_of(cycle)
    finally:
        del node


def run_eggbox(frames, shape):
    name = f"bench-{os.getpid()}"
    middle = middle_of(shape)
    with eggbox.FramePool(name, shape=shape, count=8, keep=4) as pool:

        def send(value):
            with pool.alloc() as frame:
                frame.array[middle] = value
                start = time.perf_counter_ns()
                frame.publish()
            return start

        return measure(frames, with_eggbox, (shape, name), send)


def run_iceoryx2(frames, shape):
    name = f"bench-{os.getpid()}-{shape[0]}"
    node, service, events = open_iceoryx2(name)
    size = math.prod(shape)
    middle = middle_of(shape)
    publisher = service.publisher_builder().initial_max_slice_len(size).create()
    notifier = events.notifier_builder().create()

    def send(value):
        sample = publisher.loan_slice_uninit(size)
        view_of_slice(sample.payload(), shape)[middle] = value
        start = time.perf_counter_ns()
        sample.assume_init().send()
        notifier.notify()
        return start

    try:
        return measure(frames, with_iceoryx2, (shape, name), send)
    finally:
        del node


def run_queue(frames, shape):
    middle = middle_of(shape)
    queue = CONTEXT.Queue()

    def send(value):
        picture[middle] = value
        start = time.perf_counter_ns()
        queue.put(picture)
        return start

    picture = np.zeros(shape, np.uint8)
    return measure(frames, with_queue, (shape, queue), send)


def run_copy(frames, shape):
    memory = shared_memory.SharedMemory(create=True, size=math.prod(shape))
    shared = np.ndarray(shape, np.uint8, memory.buf)
    picture = np.zeros(shape, np.uint8)
    middle = middle_of(shape)
    there, here = CONTEXT.Pipe(duplex=False)

    def send(value):
        picture[middle] = value
        start = time.perf_counter_ns()
        np.copyto(shared, picture)
        here.send_bytes(b"x")
        return start

    try:
        return measure(frames, with_copy, (shape, there, memory.name), send)
    finally:
        del shared, send
        memory.close()
        memory.unlink()


def print_shape(frames, shape):
    size = "x".join(map(str, shape))
    print(f"\n{size} bytes, both ends in one thread; us: fastest, median")
    cycles = {"eggbox": cycle_eggbox, "iceoryx2": cycle_iceoryx2}
    for what, cycle in cycles.items():
        if what != "iceoryx2" or iceoryx2 is not None:
            fastest, median = cycle(shape)
            print(f"{what:42} {fastest:10.2f} {median:10.2f}", flush=True)
    print(f"{frames} frames{'':31} {'median us':>13} {'90 %':>10} {'99 %':>10} "
          f"{'faults/frame':>13}")
    ways = [("iceoryx2, view", run_iceoryx2)] if iceoryx2 is not None else []
    for what, run in (("eggbox, view", run_eggbox),
                      *ways,
                      ("shared_memory, copy in, copy out, Pipe", run_copy),
                      ("multiprocessing.Queue", run_queue)):
        wanted = frames if run is not run_queue else max(frames // 5, 10)
        times, fault_rate = run(wanted, shape)
        cuts = statistics.quantiles(times, n=100)
        print(f"{what:42} {statistics.median(times):10.1f} {cuts[89]:10.1f} {cuts[98]:10.1f} "
              f"{fault_rate:13.2f}", flush=True)


def main(words):
    frames = int(words[0]) if words else 500
    shapes = [tuple(map(int, word.split("x"))) for word in words[1:]] or [SHAPE]
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; "
          f"Python {sys.version.split()[0]}")
    if iceoryx2 is None:
        print("no iceoryx2: pip install iceoryx2")
    for shape in shapes:
        print_shape(frames, shape)


if __name__ == "__main__":
    main(sys.argv[1:])
