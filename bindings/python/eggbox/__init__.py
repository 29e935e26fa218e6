# SPDX-License-Identifier: MIT
"""Frames between processes, as NumPy views of shared memory that no crash loses.

    pool = eggbox.FramePool("cam0", shape=(1080, 1920, 3), dtype="uint8", count=8, keep=4)
    with pool.alloc() as frame:
        frame.array[...] = picture
        frame.publish(time=now)

    for frame in eggbox.attach("cam0"):     # in any other process
        show(frame.array)
"""

from ._errors import (
    BusyError,
    CorruptError,
    Error,
    InvalidError,
    LimitError,
    OutOfMemoryError,
    StaleError,
    UnsupportedError,
)
from ._pool import Frame, FramePool, Handle, attach, attach_fd, gc, ls
from ._process import Pool

__all__ = [
    "BusyError",
    "CorruptError",
    "Error",
    "Frame",
    "FramePool",
    "Handle",
    "InvalidError",
    "LimitError",
    "OutOfMemoryError",
    "Pool",
    "StaleError",
    "UnsupportedError",
    "attach",
    "attach_fd",
    "gc",
    "ls",
]
__version__ = "0.1.0"
