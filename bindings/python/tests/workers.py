# SPDX-License-Identifier: MIT
"""The functions that the tests run in other processes."""

import os
import pickle
import signal


def answer(pool, handle, queue):
    """Opens a frame by its handle, and reports its first value."""
    with pool.open(handle) as frame:
        queue.put((int(frame.array[0, 0]), frame.array.flags.writeable, pool.name))


class Camera:
    """Has pools, as a program's own objects do."""

    def __init__(self, *pools):
        self.pools = list(pools)


class Wrapped:
    """Has a pool in a pickle of its own, which it loads twice."""

    def __init__(self, pool):
        self.pools = [pool]

    def __getstate__(self):
        return pickle.dumps(self.pools[0])

    def __setstate__(self, text):
        self.text = text
        self.pools = [pickle.loads(text), pickle.loads(text)]


def answer_all(queue, *owners):
    """Reports the first value of the newest frame of each pool."""
    queue.put([[int(pool.latest().array[0, 0]) for pool in owner.pools] for owner in owners])


def load_late(queue, wrapped):
    """Loads a pickle once more when its pool is closed here, and then gone."""
    for pool in wrapped.pools:
        pool.close()
    del pool
    said = []
    for pools in (wrapped.pools, []):
        wrapped.pools = pools
        try:
            pickle.loads(wrapped.text)
        except Exception as error:
            said.append(type(error).__name__)
    queue.put(said)


def hold_and_die(pool):
    """Dies with a frame held."""
    frame = pool.alloc()
    os.kill(os.getpid(), signal.SIGKILL)
    del frame
