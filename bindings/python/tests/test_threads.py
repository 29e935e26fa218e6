# SPDX-License-Identifier: MIT
"""Threads that use one pool, and each other's frames, in any order."""

import gc
import os
import random
import sys
import sysconfig
import threading
import unittest

import eggbox
import numpy as np

THREADS, STEPS, RACES = 8, 2000, 150
HAS_NO_LOCK = unittest.skipUnless(
    sysconfig.get_config_var("Py_GIL_DISABLED"), "this Python has the interpreter lock"
)
# Answers that a call may have when another thread was before it.
LATE = (eggbox.StaleError, eggbox.BusyError, eggbox.InvalidError)


class Together:
    """A pool that is replaced now and then, and frames that any thread may use and release."""

    def __init__(self):
        self.pools = [self.new_pool()]
        self.frames = [None] * THREADS
        self.checked = 0
        self.faults = []

    def new_pool(self):
        return eggbox.FramePool(shape=(8, 8), dtype="uint32", count=16, keep=5, prefault=False)

    def publish(self, pool, chance):
        value = chance.randrange(1 << 31)
        with pool.alloc() as frame:
            frame.array[...] = value
            frame.publish(time=float(value))

    def check(self, frame):
        """It is whole, and its time is its own; by a handle it comes without a time."""
        picture = frame.array
        if not (picture == picture[0, 0]).all() or picture.flags.writeable:
            self.faults.append("a picture is torn, or writable")
        elif frame.time != (int(picture[0, 0]) if frame.sequence else 0):
            self.faults.append(f"the time {frame.time} is that of another picture")
        self.checked += 1

    def keep(self, frame, chance):
        self.frames[chance.randrange(THREADS)] = frame

    def use_frame(self, pool, chance):
        frame = self.frames[chance.randrange(THREADS)]
        if frame is not None:
            what = chance.randrange(5)
            if what == 0:
                frame.release()
            elif what == 1:
                frame.publish()  # it was: refused
            elif what == 2:
                self.keep(pool.open(frame.handle), chance)
            elif what == 3:
                np.asarray(frame.buffer)
            else:
                self.check(frame)

    def look(self, pool, chance):
        what = chance.randrange(50)
        if what == 0:
            self.pools[0] = self.new_pool()
            pool.close()
        elif what == 1:
            pool.cancel()
        elif what < 25:
            pool.stats()
        else:
            pool.holders()

    def step(self, chance):
        pool = self.pools[0]
        what = chance.randrange(6)
        if what == 0:
            self.keep(pool.next(0.001), chance)
        elif what == 1:
            self.keep(pool.take(0), chance)
        elif what == 2:
            self.look(pool, chance)
        elif what == 3:
            self.publish(pool, chance)
        else:
            self.use_frame(pool, chance)

    def run(self, seed):
        chance = random.Random(seed)
        for _ in range(STEPS):
            try:
                self.step(chance)
            except LATE:
                pass
            except Exception as error:  # it would end this thread alone
                self.faults.append(repr(error))


class Threads(unittest.TestCase):
    def test_call_anything_of_one_pool_and_its_frames_at_one_time(self):
        together = Together()
        threads = [threading.Thread(target=together.run, args=(seed,)) for seed in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(together.faults, [])
        self.assertGreater(together.checked, 0)
        together.frames.clear()
        gc.collect()
        pool = together.pools[0]
        numbers = pool.stats()
        self.assertEqual(numbers["in_use"], numbers["only_feed"])
        pool.close()

    @HAS_NO_LOCK
    def test_need_no_interpreter_lock_where_there_is_none(self):
        self.assertFalse(sys._is_gil_enabled())

    @HAS_NO_LOCK
    def test_release_a_frame_at_the_moment_at_which_another_one_makes_a_view(self):
        holds, released = [None], [0]
        rounds = range(1, RACES + 1)

        def release_each():
            for number in rounds:
                while len(holds) <= number:
                    os.sched_yield()
                holds[number].release()
                released[0] = number

        with eggbox.FramePool(shape=(4, 4), count=1, prefault=False) as pool:
            thread = threading.Thread(target=release_each, daemon=True)
            thread.start()
            for number in rounds:
                hold = pool._core.alloc(0)
                self.assertNotIsInstance(hold, int, "the block is lost")
                holds.append(hold)
                while hold.view() is not None:
                    pass
                while released[0] < number:
                    os.sched_yield()
            thread.join()
            self.assertEqual(pool.stats()["in_use"], 0)


if __name__ == "__main__":
    unittest.main()
