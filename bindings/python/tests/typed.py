# SPDX-License-Identifier: MIT
"""A program of a user with types, for mypy."""

from __future__ import annotations

import eggbox
import numpy as np
from numpy.typing import NDArray


def mean_of(name: str) -> list[float]:
    means: list[float] = []
    with eggbox.attach(name) as pool:
        for frame in pool:
            view: NDArray[np.uint8] = frame.array
            means.append(float(view.mean()) + frame.time + frame.missed)
            text: bytes = bytes(frame.handle)
            with pool.open(text) as again:
                print(again.handle.generation)
    return means


def produce() -> int:
    pool = eggbox.FramePool("cam0", shape=(2, 3), dtype=np.uint8, count=2, keep=1)
    try:
        with pool.alloc(timeout=1.0) as frame:
            return frame.publish(time=1.0, note=b"x")
    except eggbox.BusyError:
        return pool.stats()["failures"]


def largest() -> str:
    pools: list[eggbox.Pool] = eggbox.Pool.all()
    print(eggbox.Pool.process()["bytes_held"])
    return max(pools, key=lambda each: each.bytes_held).name
