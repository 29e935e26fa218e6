# SPDX-License-Identifier: MIT
"""What other processes do in the tests."""

import os
import signal


def answer(pool, handle, queue):
    """Opens a frame by its handle, and tells what is in it."""
    with pool.open(handle) as frame:
        queue.put((int(frame.array[0, 0]), frame.array.flags.writeable, pool.name))


def hold_and_die(pool):
    """Dies with a frame held."""
    frame = pool.alloc()
    os.kill(os.getpid(), signal.SIGKILL)
    del frame
