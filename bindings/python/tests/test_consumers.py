# SPDX-License-Identifier: MIT
"""Frames in other packages, without a copy; and what protects a published frame from them.

EGGBOX_CONSUMERS names packages that must be there, such as "cv2 jax": a test of one of these fails
without it, where it is skipped otherwise.
"""

import ctypes
import importlib.util
import os
import unittest

import eggbox
import numpy as np

FLAGS_AT, READ_ONLY, COPIED = 24, 1, 2  # in the versioned structure of DLPack 1.0
HAS_FLAGS = np.lib.NumpyVersion(np.__version__) >= "2.1.0"  # before, DLPack 1.0 is not known
REFUSED = BufferError if HAS_FLAGS else (BufferError, TypeError)  # TypeError: before NumPy 1.25
NEEDED = os.environ.get("EGGBOX_CONSUMERS", "").split()


def needs(package):
    """Skips a test if the package is neither installed nor needed."""
    is_there = package in NEEDED or importlib.util.find_spec(package) is not None
    return unittest.skipUnless(is_there, f"no package {package}")


def picture_pool():
    return eggbox.FramePool(shape=(48, 64, 3), count=4, keep=2, prefault=False)


def publish_one(pool, value):
    with pool.alloc() as frame:
        frame.array[...] = value
        frame.publish()
    return pool.next()


def name_of(capsule):
    get = ctypes.pythonapi.PyCapsule_GetName
    get.restype, get.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return get(capsule)


def flags_of(capsule):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.c_uint64.from_address(get(capsule, b"dltensor_versioned") + FLAGS_AT).value


class DLPack(unittest.TestCase):
    def test_refuses_a_published_frame_to_consumers_that_know_no_read_only(self):
        with picture_pool() as pool:
            with pool.alloc() as frame:
                self.assertEqual(name_of(frame.__dlpack__()), b"dltensor")
            with publish_one(pool, 1) as seen:
                self.assertRaises(REFUSED, seen.__dlpack__)
                self.assertRaises(REFUSED, seen.__dlpack__, stream=None)
                if HAS_FLAGS:
                    self.assertRaises(BufferError, lambda: seen.__dlpack__(max_version=(0, 8)))

    @unittest.skipUnless(HAS_FLAGS, "NumPy has no DLPack 1.0")
    def test_has_the_flag_of_a_published_frame(self):
        with picture_pool() as pool:
            with pool.alloc() as frame:
                self.assertEqual(flags_of(frame.__dlpack__(max_version=(1, 0))), 0)
            with publish_one(pool, 1) as seen:
                self.assertEqual(flags_of(seen.__dlpack__(max_version=(1, 0))), READ_ONLY)
                copied = seen.__dlpack__(max_version=(1, 0), copy=True)
                self.assertEqual(flags_of(copied) & (READ_ONLY | COPIED), COPIED)
                self.assertFalse(np.from_dlpack(seen).flags.writeable)

    def test_keeps_the_block_until_the_consumer_is_gone(self):
        with picture_pool() as pool:
            frame = pool.alloc()
            taken = np.from_dlpack(frame)
            frame.release()
            self.assertEqual(pool.stats()["in_use"], 1)
            if HAS_FLAGS:  # else NumPy's arrays from DLPack are all read-only
                taken[...] = 3
            del taken
            self.assertEqual(pool.stats()["in_use"], 0)
            frame = pool.alloc()
            unused = frame.__dlpack__()
            frame.release()
            del unused
            self.assertEqual(pool.stats()["in_use"], 0)


class Packages(unittest.TestCase):
    @needs("cv2")
    def test_opencv_draws_into_a_new_frame_and_not_into_a_published_one(self):
        import cv2

        with picture_pool() as pool:
            with pool.alloc() as frame:
                frame.array[...] = 0
                cv2.rectangle(frame.array, (0, 0), (63, 47), (9, 8, 7), -1)
                self.assertEqual(frame.array[47, 63].tolist(), [9, 8, 7])
                frame.publish()
            with pool.next() as seen:
                self.assertEqual(cv2.mean(seen.array)[:3], (9.0, 8.0, 7.0))
                self.assertEqual(cv2.cvtColor(seen.array, cv2.COLOR_BGR2GRAY).shape, (48, 64))
                with self.assertRaises(cv2.error):
                    cv2.rectangle(seen.array, (0, 0), (9, 9), (1, 1, 1), -1)
                self.assertEqual(seen.array[0, 0].tolist(), [9, 8, 7])

    @needs("jax")
    def test_jax_takes_frames_and_never_writes_to_a_published_one(self):
        import jax.numpy as jnp

        with picture_pool() as pool:
            with pool.alloc() as frame:
                frame.array[...] = 4
                self.assertEqual(int(jnp.from_dlpack(frame).sum()), 4 * 48 * 64 * 3)
            with publish_one(pool, 5) as seen:
                try:
                    taken = jnp.from_dlpack(seen)
                except BufferError:  # its DLPack has no flag
                    taken = jnp.asarray(seen.array)
                self.assertEqual(int(taken.sum()), 5 * 48 * 64 * 3)
                self.assertEqual(int((taken + 1)[0, 0, 0]), 6)
                self.assertTrue((seen.array == 5).all())

    @needs("torch")
    def test_torch_takes_frames_without_a_copy(self):
        import torch

        with picture_pool() as pool:
            with pool.alloc() as frame:
                tensor = torch.from_dlpack(frame)
                tensor[...] = 6
                self.assertEqual(tensor.data_ptr(), frame.array.ctypes.data)
                self.assertTrue((frame.array == 6).all())
            with publish_one(pool, 7) as seen:
                try:
                    taken = torch.from_dlpack(seen)
                except BufferError:  # before 2.9 or so it asked without a version
                    taken = torch.from_numpy(seen.array.copy())
                self.assertEqual(int(taken.clone().add_(1)[0, 0, 0]), 8)
                self.assertTrue((seen.array == 7).all())


if __name__ == "__main__":
    unittest.main()
