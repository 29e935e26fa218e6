# SPDX-License-Identifier: MIT
"""The package eggbox, promise by promise."""

import gc
import json
import mmap
import multiprocessing
import os
import pathlib
import pickle
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

import eggbox
import numpy as np
import workers
from eggbox import _core


def name_of(what):
    return f"test-{what}-{os.getpid()}"


def small_pool(name=None, **options):
    settings = {"shape": (4, 6), "count": 4, "keep": 2, "prefault": False, **options}
    return eggbox.FramePool(name, **settings)


class Frames(unittest.TestCase):
    def test_goes_from_alloc_to_publish_to_next(self):
        with small_pool(name_of("way"), note_bytes=3) as pool:
            with pool.alloc() as frame:
                self.assertTrue(frame.array.flags.writeable)
                frame.array[...] = 7
                self.assertEqual(frame.publish(time=12.5, note=b"abc"), 1)
                self.assertFalse(frame.array.flags.writeable)
            with eggbox.attach(pool.name) as reader, reader.next() as seen:
                self.assertEqual((seen.sequence, seen.missed, seen.time), (1, 0, 12.5))
                self.assertEqual(seen.note, b"abc")
                self.assertEqual((reader.shape, reader.dtype), ((4, 6), np.dtype("uint8")))
                self.assertTrue((seen.array == 7).all())
                self.assertRaises(eggbox.BusyError, reader.next, 0)

    def test_take_gives_each_frame_to_one_and_latest_is_the_newest(self):
        with small_pool() as pool:
            for value in (1, 2):
                with pool.alloc() as frame:
                    frame.array[...] = value
                    frame.publish()
            self.assertEqual(pool.latest().array[0, 0], 2)
            self.assertEqual([pool.take().array[0, 0] for _ in range(2)], [1, 2])
            self.assertRaises(eggbox.BusyError, pool.take, 0.01)
            self.assertRaises(eggbox.BusyError, pool.latest)

    def test_tells_how_many_were_missed(self):
        with small_pool() as pool:
            for _ in range(5):
                with pool.alloc() as frame:
                    frame.publish()
            self.assertEqual([pool.next(0).missed, pool.next(0).missed], [3, 0])

    def test_has_any_plain_dtype(self):
        fields = np.dtype([("x", "<f4"), ("y", ">i2", (3,))])
        for dtype in ("bool", ">u2", "complex128", "float16", "datetime64[ns]", fields):
            with small_pool(dtype=dtype) as pool:
                with eggbox.attach_fd(pool.fileno()) as reader:
                    self.assertEqual(reader.dtype, np.dtype(dtype))
                with pool.alloc() as frame:
                    self.assertEqual(frame.array.shape, (4, 6))
        self.assertRaises(eggbox.InvalidError, small_pool, dtype=object)

    def test_has_nested_dtypes_and_numbers_of_numpy(self):
        inner = [("b", "<i4"), ("c", "u1", (2,))]
        nested = np.dtype([("a", inner), ("d", "f4", (2, 2)), (("title", "e"), "u1")])
        aligned = np.dtype(inner, align=True)
        for dtype in (nested, aligned):
            with small_pool(shape=(np.int64(2), 3), dtype=dtype) as pool:
                self.assertEqual((pool.shape, pool.dtype), ((2, 3), dtype))
        with small_pool(dtype=("f4", (3,))) as pool:
            self.assertEqual((pool.shape, pool.dtype), ((4, 6, 3), np.dtype("f4")))
        with self.assertRaisesRegex(eggbox.InvalidError, "bytes of JSON"):
            small_pool(dtype=[(f"field-{number:030}", "u1") for number in range(9)])

    def test_has_the_bytes_of_a_pool_that_tells_no_shape(self):
        for about in (b"", b"{", b'{"shape":[5],"dtype":"u1"}', b'{"shape":["a"],"dtype":"u1"}',
                      b'{"shape":[-2,-12],"dtype":"u1"}', b'{"shape":[3],"dtype":"O"}', b"[]"):
            made = _core.create(None, 24, 2, 1, 4, 0, 0, 0, about)
            with eggbox.attach_fd(made.fd(), read_only=False) as pool:
                self.assertEqual((pool.shape, pool.dtype, pool.note_bytes), ((24,), "uint8", 4))
                with pool.alloc() as frame:
                    frame.publish(note=b"1234")
                self.assertEqual(pool.next().note, b"1234")

    def test_goes_to_consumers_of_dlpack_and_buffers_without_a_copy(self):
        with small_pool(dtype="float32") as pool, pool.alloc() as frame:
            frame.array[1, 2] = 3.5
            at = frame.array.ctypes.data
            for view in (np.from_dlpack(frame), np.asarray(frame),
                         np.frombuffer(frame.buffer, "float32").reshape(4, 6)):
                self.assertEqual((view.ctypes.data, view[1, 2]), (at, 3.5))
            self.assertEqual(frame.__array_interface__["data"][0], at)
            if sys.version_info >= (3, 12):
                self.assertEqual((memoryview(frame).shape, memoryview(frame).format), ((4, 6), "f"))
                self.assertEqual(bytes(frame), bytes(frame.buffer))
            self.assertNotEqual(np.array(frame, copy=True).ctypes.data, at)
            self.assertEqual(np.asarray(frame, dtype="int32")[1, 2], 3)


class Views(unittest.TestCase):
    def test_keep_their_frame_and_a_released_frame_raises(self):
        pool = small_pool()
        frame = pool.alloc()
        view = frame.array[1:, ::2]
        view[...] = 9
        frame.release()
        frame.release()
        self.assertRaises(eggbox.StaleError, lambda: frame.array)
        self.assertRaises(eggbox.StaleError, frame.publish)
        self.assertEqual(pool.stats()["in_use"], 1)
        pool.close()
        pool.close()
        self.assertTrue((view == 9).all())
        del pool, frame
        gc.collect()
        self.assertTrue((view == 9).all())

    def test_that_are_read_only_cannot_be_made_writable(self):
        with small_pool() as pool:
            with pool.alloc() as frame:
                frame.publish()
            view = pool.next().array
            with self.assertRaises(ValueError):
                view.flags.writeable = True
            with self.assertRaises(ValueError):
                view[0, 0] = 1

    def test_outlive_everything_in_10000_random_lifetimes(self):
        chance = random.Random(29)
        pools, frames, views = [], [], []
        ways = [lambda f: f.array, lambda f: f.buffer]
        if np.lib.NumpyVersion(np.__version__) >= "2.1.0":  # before, none that is read-only goes so
            ways.append(np.from_dlpack)
        for step in range(10000):
            action = chance.randrange(8)
            if action == 0 and len(pools) < 5:
                pools.append(small_pool())
            elif action == 1 and pools and len(pools) < 5:
                try:
                    pools.append(eggbox.attach_fd(chance.choice(pools).fileno(), step % 2 == 0))
                except eggbox.StaleError:
                    pass
            elif action in (2, 3) and pools:
                pool = chance.choice(pools)
                try:
                    frames.append(pool.alloc() if action == 2 else pool.latest())
                except eggbox.Error:
                    pass
            elif action == 4 and frames:
                views.append(chance.choice(ways)(frames[-1]))
                if not memoryview(views[-1]).readonly:
                    np.asarray(views[-1])[...] = step % 256
            elif action == 5 and frames:
                try:
                    frames[-1].publish()
                except eggbox.Error:
                    pass
            elif action == 6 and pools and step % 5 == 0:
                pools.pop(chance.randrange(len(pools))).close()
            elif views and step % 2 == 0:
                views.pop(chance.randrange(len(views)))
            elif frames:
                frames.pop(chance.randrange(len(frames)))
            for view in views:
                np.asarray(view).ravel()[-1]
        self.assertGreater(step, 9998)


class Released(unittest.TestCase):
    def test_at_once_whatever_names_the_frame(self):
        with small_pool() as pool:
            frame = pool.alloc()
            others = [frame, frame._hold]
            view = frame.array
            frame.release()
            self.assertEqual(pool.stats()["in_use"], 1)
            del view
            gc.collect()
            self.assertEqual(pool.stats()["in_use"], 0)
            self.assertEqual(others[1].publish(b""), 4)
            self.assertIsNone(others[1].view())

    def test_by_another_thread_while_views_are_made(self):
        with small_pool(count=2) as pool:
            for _ in range(100):
                frame = pool.alloc()
                other = threading.Thread(target=frame.release)
                other.start()
                try:
                    while True:
                        frame.array[...] = 1
                except eggbox.StaleError:
                    other.join()
            self.assertEqual(pool.stats()["in_use"], 0)


class Errors(unittest.TestCase):
    def test_are_of_the_kind_that_the_library_tells(self):
        name = name_of("errors")
        with small_pool(name) as pool:
            self.assertRaises(eggbox.BusyError, small_pool, name)
            reader = eggbox.attach(name)
            self.assertRaises(eggbox.InvalidError, reader.alloc)
            first = pool.alloc()
            first.publish()
            self.assertRaises(eggbox.InvalidError, first.publish)
            writer = eggbox.attach(name, read_only=False)
            self.assertRaises(eggbox.BusyError, writer.alloc().publish)
            first.release()
            reader.close()
            writer.close()
            self.assertRaises(eggbox.StaleError, reader.next)
            self.assertRaises(eggbox.StaleError, reader.fileno)
            with self.assertRaises(eggbox.InvalidError):
                pool.alloc().publish(note=b"too long")
        self.assertRaises(eggbox.StaleError, eggbox.attach, name)
        self.assertRaises(eggbox.StaleError, pool.alloc)
        self.assertTrue(issubclass(eggbox.OutOfMemoryError, MemoryError))

    def test_come_from_wrong_arguments(self):
        for options in ({"count": 0}, {"count": -1}, {"count": 1 << 70}, {"shape": (0,)},
                        {"on_full": "explode"}, {"keep": 9}, {"note_bytes": 60},
                        {"name": "a/b"}, {"name": ""}, {"name": f"{name_of('zero')}\0b"}):
            with self.subTest(options), self.assertRaises(eggbox.InvalidError):
                small_pool(**options)
        self.assertRaises(eggbox.InvalidError, eggbox.attach, "a\0b")
        self.assertRaises(TypeError, small_pool, name=5)
        self.assertRaises((eggbox.OutOfMemoryError, eggbox.LimitError), small_pool,
                          shape=(1 << 50,))
        with small_pool() as pool:
            self.assertRaises(eggbox.InvalidError, pool.next, -1)
            self.assertRaises(eggbox.InvalidError, pool.next, float("nan"))
            self.assertRaises(eggbox.InvalidError, pool.open, b"short")
            self.assertRaises(eggbox.InvalidError, pool.open, eggbox.Handle(1, 2, 3))
        with small_pool(keep=0) as pool:
            self.assertRaises(eggbox.UnsupportedError, pool.next)
            self.assertRaises(eggbox.UnsupportedError, pool.alloc().publish)

    def test_none_comes_from_names_that_files_can_have(self):
        odd = os.fsdecode(os.fsencode(name_of("odd")) + b"\xff")
        for name in (odd, pathlib.Path("/dev/shm") / name_of("path")):
            with small_pool(name) as pool, eggbox.attach(name) as reader:
                self.assertEqual((pool.name, reader.name), (str(name), str(name)))
                self.assertEqual(pickle.loads(pickle.dumps(pool)).name, str(name))
                self.assertEqual(name in [each["name"] for each in eggbox.ls()], name == odd)

    def test_a_file_that_is_no_pool_is_corrupt(self):
        path = f"/dev/shm/eggbox-{name_of('file')}"
        with open(path, "wb") as file:
            file.write(b"x" * 10000)
        try:
            self.assertRaises(eggbox.CorruptError, eggbox.attach, path)
            found = [each for each in eggbox.ls() if each["name"] == name_of("file")]
            self.assertIn("no pool", found[0]["error"])
        finally:
            os.unlink(path)

    def test_alloc_obeys_on_full(self):
        with small_pool(on_full="raise", count=1, keep=0) as pool, pool.alloc():
            self.assertRaises(eggbox.BusyError, pool.alloc)
        with small_pool(on_full="wait", count=1, keep=0) as pool:
            frame = pool.alloc()
            self.assertRaises(eggbox.BusyError, pool.alloc, 0.01)
            later = threading.Timer(0.02, frame.release)
            later.start()
            del frame
            pool.alloc().release()
            later.join()
        with small_pool(count=2, keep=2) as pool:
            for _ in range(3):
                with pool.alloc() as frame:
                    frame.publish()
            self.assertEqual(pool.stats()["dropped"], 1)


class Processes(unittest.TestCase):
    def test_of_each_kind_get_pools_and_handles(self):
        for method in ("fork", "spawn", "forkserver"):
            for name in (None, name_of(method)):
                context = multiprocessing.get_context(method)
                with self.subTest((method, name)), small_pool(name) as pool, pool.alloc() as frame:
                    frame.array[0, 0] = 42
                    queue = context.SimpleQueue()
                    child = context.Process(
                        target=workers.answer, args=(pool, frame.handle, queue)
                    )
                    child.start()
                    self.assertEqual(queue.get(), (42, False, name))
                    child.join()
                    self.assertEqual(child.exitcode, 0)

    def test_that_are_spawned_get_the_pool_and_not_its_name(self):
        for method in ("spawn", "forkserver"):
            context = multiprocessing.get_context(method)
            name = name_of(f"gone-{method}")
            with self.subTest(method), small_pool(name) as pool, pool.alloc() as frame:
                os.unlink(f"/dev/shm/eggbox-{name}")  # as another namespace, or a cleaner, does
                frame.array[0, 0] = 43
                with small_pool(name):  # another pool of this name
                    queue = context.SimpleQueue()
                    child = context.Process(
                        target=workers.answer, args=(pool, frame.handle, queue)
                    )
                    child.start()
                    child.join()
                self.assertEqual(child.exitcode, 0)
                self.assertEqual(queue.get(), (43, False, name))

    def test_that_are_spawned_get_pools_within_objects_and_each_as_often_as_it_is_named(self):
        for method in ("spawn", "forkserver"):
            context = multiprocessing.get_context(method)
            with self.subTest(method), small_pool(name_of(method)) as one, small_pool() as two:
                for pool, value in ((one, 5), (two, 6)):
                    with pool.alloc() as frame:
                        frame.array[0, 0] = value
                        frame.publish()
                with eggbox.attach_fd(one.fileno()) as again:
                    owners = (workers.Camera(one, two, one), workers.Camera(again),
                              workers.Wrapped(one), workers.Wrapped(two), workers.Wrapped(one))
                    queue = context.SimpleQueue()
                    child = context.Process(target=workers.answer_all, args=(queue, *owners))
                    child.start()
                    child.join()
                self.assertEqual(child.exitcode, 0)
                self.assertEqual(queue.get(), [[5, 6, 5], [5], [5, 5], [6, 6], [5, 5]])

    def test_that_close_a_pool_have_it_no_more_by_the_same_pickle(self):
        for method in ("spawn", "forkserver"):
            context = multiprocessing.get_context(method)
            with self.subTest(method), small_pool() as pool:
                queue = context.SimpleQueue()
                child = context.Process(
                    target=workers.load_late, args=(queue, workers.Wrapped(pool))
                )
                child.start()
                child.join()
                self.assertEqual(child.exitcode, 0)
                self.assertEqual(queue.get(), ["StaleError"] * 2)

    def test_that_unpickle_a_name_get_the_pool_of_that_name_or_stale(self):
        with small_pool(name_of("pickle")) as pool:
            text = pickle.dumps(pool)
            with pickle.loads(text) as other:
                self.assertEqual((other.name, other.read_only), (pool.name, False))
        self.assertRaises(eggbox.StaleError, pickle.loads, text)

    def test_that_are_killed_lose_nothing(self):
        with small_pool(on_full="raise") as pool:
            child = multiprocessing.get_context("fork").Process(
                target=workers.hold_and_die, args=(pool,)
            )
            child.start()
            child.join()
            held = [pool.alloc() for _ in range(4)]
            self.assertEqual(pool.stats()["recovered"], 1)
            self.assertEqual(len(held), 4)
            self.assertEqual([each["alive"] for each in pool.holders()], [True])

    def test_handles_are_values(self):
        with small_pool() as pool, pool.alloc() as frame:
            handle = frame.handle
            self.assertEqual(pickle.loads(pickle.dumps(handle)), handle)
            self.assertEqual(eggbox.Handle.from_bytes(bytes(handle)), handle)
            self.assertEqual(len(bytes(handle)), 16)
            self.assertEqual(pool.open(bytes(handle)).array.ctypes.data, frame.array.ctypes.data)
            frame.release()
            self.assertRaises(eggbox.StaleError, pool.open, handle)

    def test_with_damaged_names_are_shown(self):
        with small_pool(name_of("damage")) as pool:
            with open(f"/dev/shm/eggbox-{pool.name}", "r+b") as file:
                shown = os.path.basename(os.readlink("/proc/self/exe"))[-31:].encode()
                file.seek(file.read().index(shown))
                file.write(b"\xff")
            seen = [each["holders"] for each in eggbox.ls() if each["name"] == pool.name]
            for holders in (pool.holders(), *seen):
                self.assertEqual(holders[0]["program"][0], "\ufffd")

    def test_ls_shows_pools_and_gc_keeps_the_living(self):
        with small_pool(name_of("ls")) as pool:
            frame = pool.alloc()
            eggbox.gc()
            shown = [each for each in eggbox.ls() if each["name"] == pool.name]
            self.assertEqual(shown[0]["stats"]["in_use"], 1)
            self.assertEqual(shown[0]["holders"][0]["pid"], os.getpid())
            self.assertEqual(shown[0]["holders"][0]["waiting"], 0)
            frame.release()
        self.assertFalse(os.path.exists(f"/dev/shm/eggbox-{pool.name}"))


HEADER = struct.Struct("=QIIQIIII")
SLOT = struct.Struct("=IIQQIIIIII Ii 8x 16s16s256s 7Q 1920x 96x")  # and pools behind the first
POOL = struct.Struct("=3Q2I4Q32s")
SLOT_BYTES = 12288
LIVE_H = pathlib.Path(__file__).parents[3] / "include" / "eggbox" / "live.h"
VERSION = int(re.search(r"EGB_LIVE_VERSION +(\d+)u", LIVE_H.read_text())[1])


def slot_of(pid, is_linked, started_ns, *pools, beyond=0):
    large = (9, 8, 1, 2, 3, 4096, 8192)
    start = SLOT.pack(pid, 0, started_ns, 0, 0, 0, is_linked, 0, 0, beyond, 0, 0, b"", b"", b"",
                      *large)
    return (start + b"".join(POOL.pack(*each) for each in pools)).ljust(SLOT_BYTES, b"\0")


class LiveFile:
    """A live file that this process has mapped, as those of the library."""

    def __init__(self, *slots, magic=0x314556494C474745, version=VERSION, said=None):
        count = len(slots) if said is None else said
        header = HEADER.pack(magic, version, count, SLOT_BYTES, 0, 0, 0, 0)
        self.file = os.memfd_create("eggbox")
        os.write(self.file, header.ljust(4096, b"\0") + b"".join(slots))
        self.memory = mmap.mmap(self.file, os.fstat(self.file).st_size)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.memory.close()
        os.close(self.file)


class PoolsOfTheProcess(unittest.TestCase):
    shop = (7, 64, 10, 4, 384, 12, 65536, 3, 1, b"shop")
    seen = eggbox.Pool("linked", "shop", 64, 6, 4, 12, 65536, 2)

    def setUp(self):
        self.before = eggbox.Pool.all()

    def new(self):
        return [each for each in eggbox.Pool.all() if each not in self.before]

    def test_are_those_of_its_own_newest_slots(self):
        own = os.getpid()
        gone = (0, 64, 1, 1, 1, 1, 1, 0, 0, b"gone")
        old = (9, 32, 1, 1, 1, 1, 1, 0, 0, b"old")
        large = (9, 1 << 40, 2, 0, 0, 2, 1 << 41, 0, 0, b"n" * 32)
        before = eggbox.Pool.process()
        with LiveFile(slot_of(own, 1, 5, old), slot_of(own + 1, 1, 9, old),
                      slot_of(own, 1, 8, gone, self.shop, beyond=97),
                      slot_of(own, 0, 8, large), bytes(SLOT_BYTES)):
            self.assertEqual(self.new(), [
                self.seen,
                eggbox.Pool("malloc", "n" * 32, 1 << 40, 2, 0, 2, 1 << 41, 0),
            ])
            grown = {key: value - before[key] for key, value in eggbox.Pool.process().items()}
            if not self.before:  # else the heap of this process goes on meanwhile
                self.assertEqual(grown, {
                    "pools": 2, "pools_beyond": 2, "bytes_in_use": 384 + (1 << 41) + 2 * 4096,
                    "bytes_held": 65536 + (1 << 41) + 2 * 4096, "large_in_use": 4,
                    "large_bytes": 2 * 4096, "large_bytes_peak": 2 * 8192, "failures": 4,
                })

    def test_are_not_read_from_other_files_and_not_beyond_the_end(self):
        own = slot_of(os.getpid(), 1, 1, self.shop)
        for options in ({"magic": 1}, {"version": VERSION + 1}):
            with LiveFile(own, **options):
                self.assertEqual(self.new(), [])
        with LiveFile(own, said=1 << 31):
            self.assertEqual(self.new(), [self.seen])
        with LiveFile(own, own) as file:
            os.ftruncate(file.file, 4096)
            self.assertEqual(self.new(), [])

    def test_may_be_nonsense(self):
        chance = random.Random(4)
        for _ in range(20):
            noise = os.getpid().to_bytes(4, sys.byteorder) + chance.randbytes(SLOT_BYTES - 4)
            with LiveFile(noise, noise):
                for each in eggbox.Pool.all():
                    self.assertIsInstance(each.name, str)
                self.assertGreater(eggbox.Pool.process()["pools"], 0)

    def test_are_the_heap_under_run(self):
        command = shutil.which("eggbox")
        if command is None:
            self.skipTest("no command eggbox in PATH")
        code = ("import eggbox; heap = {each.name: each for each in eggbox.Pool.all()}; "
                "one = heap['heap 64']; "
                "print(one.library, one.block_bytes, 0 < one.in_use * 64 <= one.bytes_held)")
        done = subprocess.run(
            [sys.executable, "-m", "eggbox", "run", "--", sys.executable, "-c", code],
            capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, "malloc 64 True\n"), done.stderr)


class Threads(unittest.TestCase):
    def test_wait_without_the_interpreter_lock_and_share_a_pool(self):
        with small_pool(on_full="wait", count=3) as pool:
            seen = []

            def work():
                for frame in iter(lambda: pool.take(), None):
                    seen.append(int(frame.array[0, 0]))
                    if len(seen) >= 300:
                        return

            def guarded():
                try:
                    work()
                except eggbox.BusyError:
                    pass  # cancelled: the other one took the last frame

            readers = [threading.Thread(target=guarded) for _ in range(2)]
            for reader in readers:
                reader.start()
            for number in range(300):
                with pool.alloc() as frame:
                    frame.array[0, 0] = number % 250
                    frame.publish()
                while len(seen) < number:
                    readers[0].join(0.0001)
            while len(seen) < 300:
                readers[0].join(0.001)
            while any(reader.is_alive() for reader in readers):
                pool.cancel()
                readers[0].join(0.001)
            self.assertEqual(sorted(seen), sorted(n % 250 for n in range(300)))

    def test_cancel_ends_a_loop(self):
        with small_pool() as pool:
            ended = threading.Event()

            def loop():
                for _ in pool:
                    pass
                ended.set()

            reader = threading.Thread(target=loop)
            reader.start()
            while not ended.wait(0.01):
                pool.cancel()
            reader.join()

    def test_the_example_of_the_readme_runs(self):
        text = (pathlib.Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
        example = re.search(r"```python\n(.*?)```", text, re.S).group(1)
        names = {}
        exec(example.replace("cam0", name_of("readme")), names)
        self.assertEqual((names["seen"].array[0, 0, 0], names["seen"].time), (7, 12.5))

    def test_pools_are_json_to_other_languages(self):
        with small_pool(dtype="<u2") as pool:
            about = json.loads(pool._core.about())
            self.assertEqual(about, {"shape": [4, 6], "dtype": "<u2", "on_full": "drop_oldest"})

    def test_the_module_runs_the_command_if_there_is_one(self):
        words = [sys.executable, "-m", "eggbox", "run", "it"]
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "PATH": folder}
            done = subprocess.run(words, env=environment, capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn("no command eggbox in PATH", done.stderr)
            command = pathlib.Path(folder) / "eggbox"
            command.write_text('#!/bin/sh\necho "$@"\nexit 3\n')
            command.chmod(0o700)
            done = subprocess.run(words, env=environment, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (3, "run it\n"))


if __name__ == "__main__":
    unittest.main()
