# SPDX-License-Identifier: MIT
"""Pools of frames, and frames."""

from __future__ import annotations

import json
import math
import operator
import os
import struct
import weakref
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import _core
from ._errors import Error, InvalidError, StaleError, error_of

READ_ONLY, PREFAULT, HUGE_PAGES = 1, 2, 4
FOREVER = (1 << 64) - 1
POLICIES = {"raise": 0, "wait": 1, "drop_oldest": 2}
FOLDER, PREFIX = "/dev/shm", "eggbox-"
TIME = struct.Struct("<d")
# NumPy 2.2 has no types of these two.
_descr_of_dtype: Callable[[np.dtype[Any]], Any] = np.lib.format.dtype_to_descr
_dtype_of_descr: Callable[[Any], np.dtype[Any]] = np.lib.format.descr_to_dtype
RELEASED = "the frame was released; take a view before, or open its handle"
ABOUT_BYTES_MAX = 256
Self = TypeVar("Self", bound="_Ending")  # typing has it from 3.11 on


class Handle(NamedTuple):
    """A frame's handle: a value for any queue, socket or database. `bytes(handle)` has 16 bytes."""

    pool: int
    block: int
    generation: int

    def __bytes__(self) -> bytes:
        return struct.pack("<IIQ", *self)

    @classmethod
    def from_bytes(cls, text: bytes) -> Handle:
        """The handle of 16 bytes. Raises InvalidError for another length."""
        if len(text) != 16:
            raise InvalidError(f"a handle has 16 bytes, not {len(text)}")
        return cls(*struct.unpack("<IIQ", text))


def _description(from_json: Any) -> Any:
    """A dtype's description as NumPy wants it: a text, or a tuple for each field."""
    if isinstance(from_json, str):
        return from_json
    return [
        (
            tuple(name) if isinstance(name, list) else name,
            _description(kind),
            *(tuple(each) for each in shape),
        )
        for name, kind, *shape in from_json
    ]


def _nanoseconds(timeout: float | None) -> int:
    if timeout is None:
        return FOREVER
    if not timeout >= 0:
        raise InvalidError(f"a timeout is None, or 0 or more seconds, not {timeout}")
    return min(int(min(timeout, 1e9) * 1e9), FOREVER)


class _Ending:
    """Calls `_end` at the end of `with`."""

    __slots__ = ()

    def _end(self) -> None:
        raise NotImplementedError

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()


class Frame(_Ending):
    """A frame that this process holds until release(), the end of `with`, or the frame's end.

    Views of it stay valid after that: a view keeps the memory, and the block is free when the last
    view is gone, too.
    """

    __slots__ = ("_hold", "_pool")

    def __init__(self, pool: FramePool, hold: _core.Hold) -> None:
        self._pool = pool
        self._hold: _core.Hold | None = hold

    def _held(self) -> _core.Hold:
        hold = self._hold
        if hold is None:
            raise StaleError(RELEASED)
        return hold

    def _view(self) -> _core.View:
        view = self._held().view()
        if view is None:  # another thread has just released the frame
            raise StaleError(RELEASED)
        return view

    @property
    def array(self) -> NDArray[Any]:
        """A view of the frame with the pool's shape and dtype, without a copy.

        Writable if the frame came from alloc() and is not published yet, else read-only. Raises
        StaleError after release().
        """
        # As _view(), but a call of Python costs a tenth of all this.
        hold = self._hold
        view: Any = None if hold is None else hold.view()  # Any: NumPy's types know few buffers
        if view is None:
            raise StaleError(RELEASED)
        pool = self._pool
        return np.ndarray(pool._shape, pool._dtype, view)

    @property
    def buffer(self) -> memoryview:
        """The bytes of the frame, in one dimension and without a copy; else as with `array`."""
        return memoryview(self._view())

    def __buffer__(self, flags: int) -> memoryview:
        """From Python 3.12 on the frame is a buffer itself, with shape and format."""
        return self.array.data

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        view = self.array
        if dtype is not None and np.dtype(dtype) != view.dtype:
            if copy is False:
                raise ValueError("another dtype needs a copy")
            return view.astype(dtype)
        return view.copy() if copy else view

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.array.__array_interface__

    def __dlpack__(self, **options: Any) -> Any:
        """As NumPy's arrays, from NumPy 2.1 on with the flag that says read-only.

        Not all consumers obey the flag. PyTorch has no read-only tensors: a write to the tensor of
        a frame from next() ends the process with SIGSEGV, as any write to read-only memory. Raises
        BufferError if the frame is read-only and the consumer's DLPack is older than 1.0.
        """
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[Any, int]:
        return self.array.__dlpack_device__()

    @property
    def handle(self) -> Handle:
        """The frame as a value, which any process that has the pool can open()."""
        return Handle(*self._held().handle)

    @property
    def sequence(self) -> int:
        """Its number in the feed, from 1; 0: it was not published, or came by its handle."""
        return self._held().sequence

    @property
    def missed(self) -> int:
        """Frames between the one before and this one that this reader was too late for."""
        return self._held().missed

    @property
    def time(self) -> float:
        """The time given to publish(); 0.0 if none was."""
        return float(TIME.unpack_from(self._held().note)[0]) if self._pool._has_time else 0.0

    @property
    def note(self) -> bytes:
        """The pool's `note_bytes` bytes given to publish()."""
        start = TIME.size if self._pool._has_time else 0
        return self._held().note[start : start + self._pool.note_bytes]

    def publish(self, *, time: float = 0.0, note: bytes = b"") -> int:
        """Publishes the frame: every reader may see it. Returns its number in the feed, from 1.

        Views taken before stay writable: write to none of them any more. Raises BusyError if
        another process publishes, InvalidError for a frame that was published before or a note
        longer than the pool's `note_bytes`, UnsupportedError if the pool keeps no frames,
        StaleError after release().
        """
        pool = self._pool
        if len(note) > pool._note_bytes:
            raise InvalidError(f"a note has at most {pool._note_bytes} bytes in this pool")
        hold = self._held()
        text = TIME.pack(time) + note if pool._has_time else note
        status = hold.publish(text)
        if status != 0:
            raise error_of(
                status,
                {
                    1: "the frame was published before, or the pool is read-only here",
                    4: RELEASED,
                    5: "another process publishes in this pool: only one may at a time",
                }.get(status, "the pool keeps no frames: make it with keep=1 or more"),
            )
        return hold.sequence

    def release(self) -> None:
        """Ends the hold, at once and in any thread. A second call does nothing."""
        hold = self._hold
        self._hold = None
        if hold is not None:
            hold.release()

    _end = release

    def __repr__(self) -> str:
        return "<eggbox.Frame, released>" if self._hold is None else f"<eggbox.Frame {self.handle}>"


def _opened(result: _core.Pool | int, what: str) -> _core.Pool:
    if isinstance(result, int):
        raise error_of(result, f"{what}: {REASONS.get(result, _core.status_text(result))}")
    return result


def _refusal(status: int, busy: str) -> Error:
    text = {4: "the pool was closed", 5: busy, 1: "the pool is read-only here"}
    return error_of(status, text.get(status, "the pool keeps no frames"))


REASONS = {
    1: "out of range: a name has no slash but at its begin and no zero byte, shape and count are 1 "
    "or more, keep is at most count, note_bytes at most 56, and a descriptor is open for reading "
    "and writing",
    2: "the system refused memory, a file or a permission; make count smaller or /dev/shm larger",
    3: "62 processes have it open, or it is larger than this process can address",
    4: "there is no pool of this name",
    5: "a living pool, or another file, has this name",
    6: "the file is no pool, or it was damaged",
}


class FramePool(_Ending):
    """A pool of `count` frames in shared memory, and a feed of the last `keep` published ones.

    Frames have `shape` and `dtype`, of plain values; a dtype with a shape of its own is more axes.
    `name` is a file in /dev/shm, or a path with a slash; None: no name, and the pool goes to other
    processes as a descriptor (by pickle, or `fileno()`). `on_full` says what alloc() does when no
    frame is free: "raise", "wait", or "drop_oldest", which takes the oldest frame that only the
    feed holds. Any thread may use a pool. Raises BusyError if the name is taken, OutOfMemoryError
    if the memory is not there, InvalidError for a wrong argument.
    """

    def __init__(
        self,
        name: str | os.PathLike[str] | None = None,
        *,
        shape: tuple[int, ...],
        dtype: DTypeLike = "uint8",
        count: int,
        keep: int = 0,
        on_full: str = "drop_oldest",
        note_bytes: int = 0,
        permissions: int = 0o600,
        prefault: bool = True,
        huge_pages: bool = False,
    ) -> None:
        kind = np.dtype(dtype)
        shape = (*(operator.index(each) for each in shape), *kind.shape)
        kind = kind.base  # as in NumPy's arrays, a dtype with a shape is more axes
        if kind.hasobject:
            raise InvalidError("objects of Python cannot be shared; use a dtype of plain values")
        if on_full not in POLICIES:
            raise InvalidError(f"on_full is one of {', '.join(POLICIES)}, not {on_full!r}")
        if min(count, keep, note_bytes, permissions, *shape) < 0:
            raise InvalidError("count, keep, note_bytes, permissions and shape are not negative")
        about = {"shape": shape, "dtype": _descr_of_dtype(kind), "on_full": on_full}
        flags = (PREFAULT if prefault else 0) | (HUGE_PAGES if huge_pages else 0)
        what = f"pool {name!r}" if name is not None else "pool"
        file = os.fsencode(name) if name is not None else None
        text = json.dumps(about, separators=(",", ":")).encode()
        if len(text) > ABOUT_BYTES_MAX:
            raise InvalidError(
                f"{what}: shape and dtype take {len(text)} bytes of JSON, of {ABOUT_BYTES_MAX}"
            )
        try:
            made = _core.create(
                file,
                math.prod(shape) * kind.itemsize,
                count,
                keep,
                TIME.size + note_bytes,
                POLICIES[on_full],
                permissions,
                flags,
                text,
            )
        except TypeError:
            raise InvalidError(f"{what}: a number is larger than 64 bits, or is none") from None
        self._take_over(_opened(made, what), None if file is None else os.fsdecode(file))

    def _take_over(self, core: _core.Pool, name: str | None) -> None:
        numbers = core.stats()
        self._core = core
        self._name = name
        self._after = 0
        self._has_time = False
        self._shape: tuple[int, ...] = (numbers["block_bytes"],)
        self._dtype: np.dtype[Any] = np.dtype("uint8")
        self._waits = False
        self._note_bytes = numbers["note_bytes"]
        try:
            about = json.loads(core.about())
            shape = tuple(int(each) for each in about["shape"])
            kind = _dtype_of_descr(_description(about["dtype"]))
            is_ours = math.prod(shape) * kind.itemsize == numbers["block_bytes"]
        except (ValueError, KeyError, TypeError, IndexError, RecursionError):
            return  # a pool of a program in C: bytes
        if is_ours and min(shape, default=0) >= 0 and not kind.hasobject:
            self._shape, self._dtype, self._has_time = shape, kind, True
            self._waits = about.get("on_full") == "wait"
            self._note_bytes -= TIME.size

    @classmethod
    def _of(cls, core: _core.Pool, name: str | None) -> FramePool:
        pool = cls.__new__(cls)
        pool._take_over(core, name)
        return pool

    @property
    def name(self) -> str | None:
        return self._name

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    @property
    def note_bytes(self) -> int:
        """The most bytes of a note."""
        return self._note_bytes

    @property
    def closed(self) -> bool:
        return not self._core.is_open

    @property
    def read_only(self) -> bool:
        return self._core.read_only

    def _frame(self, result: _core.Hold | int, busy: str) -> Frame:
        if isinstance(result, int):
            raise _refusal(result, busy)
        return Frame(self, result)

    def alloc(self, timeout: float | None = None) -> Frame:
        """A frame to write to. `timeout` in seconds is for on_full="wait"; None: for ever.

        Raises BusyError if none is free, InvalidError in a read-only pool, StaleError if closed.
        """
        limit = _nanoseconds(timeout) if self._waits or timeout is not None else 0
        return self._frame(self._core.alloc(limit), "no frame is free; release some, or make more")

    def next(self, timeout: float | None = None) -> Frame:
        """The oldest frame that is newer than the one before; waits for it.

        Each FramePool object has a place of its own in the feed; threads that call this with one
        object at one time may get the same frame. Raises BusyError when the time
        is over or cancel() was called, StaleError if the pool is closed.
        """
        result = self._core.next(self._after, _nanoseconds(timeout))
        if isinstance(result, int):
            raise _refusal(result, "no frame came in time")
        self._after = result.sequence
        return Frame(self, result)

    def take(self, timeout: float | None = None) -> Frame:
        """The oldest frame of the feed, for this caller alone. Errors as with next()."""
        return self._frame(self._core.take(_nanoseconds(timeout)), "no frame came in time")

    def latest(self) -> Frame:
        """The newest frame of the feed. Raises BusyError if there is none."""
        return self._frame(self._core.latest(), "the feed is empty")

    def open(self, handle: Handle | bytes) -> Frame:
        """The frame of a handle, read-only. Raises StaleError, for certain, if it is gone."""
        value = Handle.from_bytes(handle) if isinstance(handle, bytes) else handle
        result = self._core.open(*value)
        if result == 1:
            raise InvalidError("the handle is of another pool")
        if result == 4 and not self.closed:
            raise StaleError("the frame is gone")
        return self._frame(result, "")

    def __iter__(self) -> Iterator[Frame]:
        """Each frame by next(), until the pool is closed here or cancel() is called.

        Each frame is released when the loop has no name for it any more.
        """
        while True:
            try:
                frame = self.next()
            except (StaleError, TimeoutError):
                return
            yield frame
            del frame

    def cancel(self) -> None:
        """Ends the waits of this object's users: they raise BusyError, and loops end."""
        self._core.cancel()

    def recover(self) -> int:
        """Frees what dead processes held, and returns how many there were. O(count)"""
        return self._core.recover()

    def stats(self) -> dict[str, int]:
        """The numbers of the pool: count, in_use, published, dropped, and others."""
        return self._core.stats()

    def holders(self) -> list[dict[str, int | str | bool]]:
        """For each process that has the pool: slot, pid, program, alive, this, held, missed, and
        how many of its threads are waiting."""
        return self._core.holders()

    def fileno(self) -> int:
        """The descriptor, to hand on; the pool's. Raises StaleError if closed."""
        descriptor = self._core.fd()
        if descriptor < 0:
            raise StaleError("the pool was closed")
        return descriptor

    def close(self) -> None:
        """Ends the use of the pool here. Frames and views stay valid; with the last one the
        process detaches. A second call does nothing."""
        self._core.close()

    _end = close

    def __reduce__(self) -> tuple[Any, ...]:
        """To a process that multiprocessing starts, a pool goes as a descriptor: it arrives even
        where its name is gone, another pool's, or in another namespace. Elsewhere a pool with a
        name goes by that, and one without as a descriptor, to processes of multiprocessing."""
        from multiprocessing.context import get_spawning_popen
        from multiprocessing.reduction import DupFd

        process = get_spawning_popen()
        if process is not None:
            sent = _sent.setdefault(process, {})
            descriptor = self.fileno()
            if descriptor not in sent:
                sent[descriptor] = DupFd(descriptor)
            return _attach_inherited, (sent[descriptor], self.read_only, self._name)
        if self._name is not None:
            return attach, (self._name, self.read_only)
        return _attach_sent, (DupFd(self.fileno()), self.read_only)

    def __repr__(self) -> str:
        return f"<eggbox.FramePool {self._name!r} {self._shape} {self._dtype}>"


def attach(
    name: str | os.PathLike[str], read_only: bool = True, *, prefault: bool = True
) -> FramePool:
    """The pool of this name. Raises StaleError if there is none, CorruptError if the file is no
    pool, LimitError if 62 processes have it open."""
    flags = (READ_ONLY if read_only else 0) | (PREFAULT if prefault else 0)
    file = os.fsencode(name)
    return FramePool._of(_opened(_core.attach(file, flags), f"pool {name!r}"), os.fsdecode(file))


def attach_fd(fd: int, read_only: bool = True, *, prefault: bool = True) -> FramePool:
    """The pool of a descriptor, which stays the caller's. Errors as with attach()."""
    flags = (READ_ONLY if read_only else 0) | (PREFAULT if prefault else 0)
    return FramePool._of(_opened(_core.attach_fd(fd, flags), f"descriptor {fd}"), None)


def _attach_sent(sent: Any, read_only: bool) -> FramePool:
    descriptor = sent.detach()
    try:
        return attach_fd(descriptor, read_only)
    finally:
        os.close(descriptor)


# A process inherits each descriptor once, and has to close it: its memory stays as long as it is
# open. But pickles within pickles may name the same pool, and one text may be loaded twice:
# the parent remembers the pools sent to a process, and the child the pool of each descriptor.
_sent: weakref.WeakKeyDictionary[Any, dict[int, Any]] = weakref.WeakKeyDictionary()
_inherited: dict[int, weakref.ref[FramePool]] = {}


def _attach_inherited(sent: Any, read_only: bool, name: str | None) -> FramePool:
    descriptor = sent.detach()
    if descriptor in _inherited:
        first = _inherited[descriptor]()
        if first is None:
            raise StaleError("the pool was closed since this pickle was loaded the first time")
        pool = attach_fd(first.fileno(), read_only)
    else:
        pool = _attach_sent(sent, read_only)
        _inherited[descriptor] = weakref.ref(pool)
    pool._name = name
    return pool


def ls() -> list[dict[str, Any]]:
    """The pools in /dev/shm: for each its name, stats() and holders(); `error` in place of these
    if it cannot be read. Nothing is attached and nothing changes."""
    found = []
    for file in sorted(os.listdir(FOLDER) if os.path.isdir(FOLDER) else []):
        if file.startswith(PREFIX):
            entry: dict[str, Any] = {"name": file[len(PREFIX) :]}
            seen = _core.look(os.fsencode(entry["name"]))
            if isinstance(seen, int):
                entry["error"] = REASONS.get(seen, _core.status_text(seen))
            else:
                entry["stats"], entry["holders"] = seen
            found.append(entry)
    return found


def gc() -> int:
    """Removes the pools in /dev/shm whose processes are all dead; returns how many."""
    return _core.gc()
