# SPDX-License-Identifier: MIT
"""An exception for each status of the C library."""

from __future__ import annotations


class Error(Exception):
    """The base class of every error of this package."""


class InvalidError(Error, ValueError):
    """An argument can never work; nothing was changed."""


class OutOfMemoryError(Error, MemoryError):
    """The system refused memory or a file, for example because /dev/shm is full."""


class LimitError(Error):
    """More than the pool or the library can hold: 62 processes have the pool open."""


class StaleError(Error, LookupError):
    """The frame is gone for certain, the pool was closed, or there is no pool of this name."""


class BusyError(Error, TimeoutError):
    """Nothing came or became free in time, another process publishes, or the name is taken."""


class CorruptError(Error):
    """The file is no pool, or it was damaged."""


class UnsupportedError(Error, NotImplementedError):
    """Not with this pool, this version or this system."""


STATUS = {
    1: InvalidError,
    2: OutOfMemoryError,
    3: LimitError,
    4: StaleError,
    5: BusyError,
    6: CorruptError,
}


def error_of(status: int, what: str) -> Error:
    """The exception for a status that is not 0."""
    return STATUS.get(status, UnsupportedError)(what)
