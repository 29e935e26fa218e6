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
    "egb_board_init": (INT, [PTR, PTR, SIZE, PTR, SIZE, PTR, SIZE]),
    "egb_board_alloc": (PTR, [PTR, SIZE]),
    "egb_board_alloc_urgent": (PTR, [PTR, SIZE]),
    "egb_board_aligned_alloc": (PTR, [PTR, SIZE, SIZE]),
    "egb_board_calloc": (PTR, [PTR, SIZE, SIZE]),
    "egb_board_free": (None, [PTR, PTR]),
    "egb_board_realloc": (PTR, [PTR, PTR, SIZE]),
    "egb_board_usable": (SIZE, [PTR, PTR]),
    "egb_board_available": (SIZE, [PTR]),
    "egb_board_class_in_use": (SIZE, [PTR, SIZE]),
    "egb_board_class_peak": (SIZE, [PTR, SIZE]),
    "egb_board_whole": (BOOL, [PTR]),
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


def board_heap(library):
    """One class of four blocks."""
    port = Port(Enter(lambda port: 0), Leave(lambda port, before: None))
    heap, plan, area = ((WORD * count)() for count in (2, 16, 8))
    plan[0], plan[1] = 16, 4
    assert library.egb_board_init(heap, area, 64, plan, 1, ctypes.byref(port), 1) == OK
    first = library.egb_board_alloc(heap, 10)
    second = library.egb_board_aligned_alloc(heap, 16, 10)
    third = library.egb_board_calloc(heap, 2, 8)
    assert first and third and library.egb_board_usable(heap, first) == 16
    assert library.egb_board_realloc(heap, first, 16) == first
    assert library.egb_board_realloc(heap, first, 17) is None
    taken = 2 + (second is not None)
    assert library.egb_board_class_in_use(heap, 0) == taken
    assert library.egb_board_available(heap) == 16 * (4 - taken)
    while library.egb_board_alloc(heap, 1):
        pass
    assert library.egb_board_alloc_urgent(heap, 1)
    library.egb_board_free(heap, first)
    assert library.egb_board_class_peak(heap, 0) == 4 and library.egb_board_whole(heap)


TABLE = [(tuple(name for name in SIGNATURES if name.startswith(prefix)), calls)
         for prefix, calls in (("egb_fixed_shared_", fixed_shared), ("egb_board_", board_heap))]
