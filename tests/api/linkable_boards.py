# SPDX-License-Identifier: MIT
"""The calls of linkable_calls.py on pools for threads and interrupts."""

import ctypes

INT, UINT, BOOL, SIZE, PTR, WORD = (ctypes.c_int, ctypes.c_uint32, ctypes.c_bool, ctypes.c_size_t,
                                    ctypes.c_void_p, ctypes.c_uint64)
OK, EMPTY, UNSUPPORTED = 0, 8, 7
Enter = ctypes.CFUNCTYPE(PTR, PTR)
Leave = ctypes.CFUNCTYPE(None, PTR, PTR)


class Port(ctypes.Structure):
    _fields_ = [("enter", Enter), ("leave", Leave), ("wait", PTR), ("wake", PTR),
                ("reschedule", PTR), ("priority", PTR)]


SIGNATURES = {
    "egb_fixed_shared_init": (INT, [PTR, PTR, PTR, SIZE]),
    "egb_fixed_shared_alloc": (PTR, [PTR]),
    "egb_fixed_shared_alloc_urgent": (PTR, [PTR]),
    "egb_fixed_shared_alloc_for": (INT, [PTR, PTR, UINT]),
    "egb_fixed_shared_alloc_urgent_for": (INT, [PTR, PTR, UINT]),
    "egb_fixed_shared_free": (None, [PTR, PTR]),
    "egb_fixed_shared_cancel": (SIZE, [PTR]),
    "egb_fixed_shared_capacity": (SIZE, [PTR]),
    "egb_fixed_shared_in_use": (SIZE, [PTR]),
    "egb_fixed_shared_peak": (SIZE, [PTR]),
    "egb_fixed_shared_waiting": (SIZE, [PTR]),
    "egb_fixed_shared_whole": (BOOL, [PTR]),
}


def fixed_shared(library):
    """Two blocks, one of them a reserve, on a port without critical sections."""
    port = Port(Enter(lambda port: 0), Leave(lambda port, before: None))
    pool, shared, region = ((WORD * count)() for count in (8, 8, 4))
    out = PTR()
    assert library.egb_fixed_init(pool, region, 32, 16) == OK
    assert library.egb_fixed_shared_init(shared, pool, ctypes.byref(port), 1) == OK
    first = library.egb_fixed_shared_alloc(shared)
    assert first and library.egb_fixed_shared_alloc(shared) is None
    assert library.egb_fixed_shared_alloc_for(shared, ctypes.byref(out), 0) == EMPTY
    assert library.egb_fixed_shared_alloc_for(shared, ctypes.byref(out), 1) == UNSUPPORTED
    second = library.egb_fixed_shared_alloc_urgent(shared)
    assert second and second != first
    library.egb_fixed_shared_free(shared, first)
    assert library.egb_fixed_shared_alloc_urgent_for(shared, ctypes.byref(out), 1) == OK
    assert out.value == first
    assert (library.egb_fixed_shared_capacity(shared), library.egb_fixed_shared_in_use(shared),
            library.egb_fixed_shared_peak(shared), library.egb_fixed_shared_waiting(shared),
            library.egb_fixed_shared_cancel(shared)) == (2, 2, 2, 0, 0)
    assert library.egb_fixed_shared_whole(shared)


TABLE = [(tuple(SIGNATURES), fixed_shared)]
