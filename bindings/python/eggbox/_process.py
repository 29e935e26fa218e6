# SPDX-License-Identifier: MIT
"""The pools that serve this process, as numbers."""

from __future__ import annotations

from typing import NamedTuple

from . import _core


class Pool(NamedTuple):
    """The numbers of a pool of this process at one moment. To make one is to make a record: pools
    are made by C and C++ code, and by the heap.

    all() sees what a copy of the library in this process writes to its live file. That is so
    under `python -m eggbox run -- python ...`: there the heap of the whole process is pools, one
    for each size class. With EGGBOX_LIVE=1 in its environment a process also shows the pools of
    extension modules that link eggbox. Otherwise nothing is seen, and there is nothing of this
    package to see: frames are in shared pools, which `FramePool.stats()` and `ls()` show.

    Not seen are the limits of a pool, the pools of an extension module behind the 95th, and its
    blocks that are not in pools. The numbers are those of the pool's last call that took a lock.
    """

    library: str
    """"malloc": it serves malloc() of the process. "linked": of a program or extension module."""
    name: str
    """As given when it was made, cut to 31 bytes; "heap 64" is the heap's size class of 64."""
    block_bytes: int
    """Bytes of a block."""
    in_use: int
    """Blocks that callers have, as of the last count of `in_magazines`."""
    in_magazines: int
    """Free blocks that threads had at hand when these were counted last; at first 0."""
    peak: int
    """Most blocks in use at one time; free ones that threads had at hand may be among them."""
    bytes_held: int
    """Bytes that the pool has from the system."""
    failures: int
    """Requests that got no block."""

    @classmethod
    def all(cls) -> list[Pool]:
        """The pools of this process, in the order of their making; empty if none is recorded.

        O(pools, and processes that share the live file). Any thread; others may go on with all
        pools meanwhile. Raises no error but MemoryError.
        """
        return [
            cls(slot["library"], **pool) for slot in _core.live_slots() for pool in slot["pools"]
        ]

    @staticmethod
    def process() -> dict[str, int]:
        """The sums over all(), and the large blocks, which are in no pool.

        `pools`; `pools_beyond`: pools that all() has no room for; `bytes_in_use` and `bytes_held`,
        with large blocks; `large_in_use`: large blocks; `large_bytes`, and their most at one time,
        `large_bytes_peak`; `failures`: requests that got no memory. All 0 if nothing is recorded.
        """
        slots = _core.live_slots()
        pools = [pool for slot in slots for pool in slot["pools"]]
        large = sum(slot["large_bytes"] for slot in slots)
        return {
            "pools": len(pools),
            "pools_beyond": sum(slot["pools_beyond"] for slot in slots),
            "bytes_in_use": sum(each["in_use"] * each["block_bytes"] for each in pools) + large,
            "bytes_held": sum(each["bytes_held"] for each in pools) + large,
            "large_in_use": sum(slot["large_in_use"] for slot in slots),
            "large_bytes": large,
            "large_bytes_peak": sum(slot["large_bytes_peak"] for slot in slots),
            "failures": sum(each["failures"] for each in pools)
            + sum(slot["large_failures"] for slot in slots),
        }
