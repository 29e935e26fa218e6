# SPDX-License-Identifier: MIT
"""A call of each public function, through ctypes, as a program in another language makes it."""

import contextlib
import ctypes
import os
import sys
import tempfile

import linkable_boards

SIZE, UINT, BOOL, TEXT, PTR = (ctypes.c_size_t, ctypes.c_uint, ctypes.c_bool, ctypes.c_char_p,
                               ctypes.c_void_p)
INT = ctypes.c_int
OK, INVALID, UNSUPPORTED, TIMED_OUT = 0, 1, 7, 9


def structure(name, *fields):
    return type(name, (ctypes.Structure,), {"_fields_": fields})


Pool = structure("egb_pool", ("slot", ctypes.c_uint32), ("generation", ctypes.c_uint32))
Backing = structure("egb_backing", ("reserve", PTR), ("commit", PTR), ("give_back", PTR),
                    ("user", PTR), ("granule", SIZE), ("zeroed", BOOL),
                    ("extra_bytes", SIZE))
Region = structure("egb_static_region", ("region", PTR), ("bytes", SIZE), ("is_out", BOOL))
GrowingOptions = structure(
    "egb_growing_options", ("block_bytes", SIZE), ("block_align", SIZE), ("max_blocks", SIZE),
    ("chunk_bytes", SIZE), ("chunk_bytes_max", SIZE), ("with_states", BOOL), ("lead_bytes", SIZE),
    ("backing", Backing))
PoolOptions = structure(
    "egb_pool_options", ("name", TEXT), ("block_bytes", SIZE), ("block_align", SIZE),
    ("max_blocks", SIZE), ("reserve_blocks", SIZE), ("parent", Pool), ("budget_bytes", SIZE),
    ("memory", PTR), ("memory_bytes", SIZE), ("flags", UINT), ("level", INT),
    ("on_exhausted", PTR), ("user", PTR))
Stats = structure(
    "egb_pool_stats", ("name", ctypes.c_char * 48), ("pools", SIZE), ("block_bytes", SIZE),
    ("stride_bytes", SIZE), ("max_blocks", SIZE), ("budget_bytes", SIZE), ("capacity", SIZE),
    ("in_use", SIZE), ("cached", SIZE), ("peak", SIZE), ("allocations", ctypes.c_uint64),
    ("frees", ctypes.c_uint64), ("failures", ctypes.c_uint64), ("chunks", SIZE),
    ("bytes_held", SIZE), ("bytes_prefaulted", SIZE), ("bytes_huge", SIZE))
Holder = structure(
    "egb_holder", ("pool", Pool), ("pool_name", TEXT), ("site", PTR), ("file", TEXT),
    ("line", UINT), ("blocks", SIZE), ("bytes", SIZE), ("oldest_ms", ctypes.c_uint64),
    ("thread", ctypes.c_uint32), ("stack", PTR), ("samples", SIZE))
Event = structure(
    "egb_misuse_event", ("kind", INT), ("pool_name", TEXT), ("pool", PTR), ("address", PTR),
    ("block_index", SIZE), ("site", PTR), ("history", PTR))

Slot = structure("egb_slot", ("index", ctypes.c_uint32), ("generation", ctypes.c_uint32))

U64 = ctypes.c_uint64
SharedOptions = structure(
    "egb_shared_options", ("name", TEXT), ("block_bytes", SIZE), ("block_align", SIZE),
    ("count", SIZE), ("feed_count", SIZE), ("note_bytes", SIZE), ("on_full", INT),
    ("wait_ns", U64), ("permissions", UINT), ("flags", UINT), ("about", TEXT),
    ("about_bytes", SIZE))
Frame = structure("egb_frame", ("pool", ctypes.c_uint32), ("index", ctypes.c_uint32),
                  ("generation", U64))
Published = structure("egb_published", ("block", PTR), ("frame", Frame), ("sequence", U64),
                      ("missed", U64), ("note", ctypes.c_char * 64))
SharedStats = structure(
    "egb_shared_stats", *((name, SIZE) for name in
                          ("block_bytes", "stride_bytes", "count", "feed_count", "note_bytes",
                           "bytes", "in_use", "only_feed", "attachments")),
    *((name, U64) for name in ("published", "dropped", "failures", "recovered")))

MISUSE_FN = ctypes.CFUNCTYPE(None, ctypes.POINTER(Event), PTR)
BLOCK_FN = ctypes.CFUNCTYPE(None, PTR, PTR)
POOL_FN = ctypes.CFUNCTYPE(None, Pool, PTR)
STATS_FN = ctypes.CFUNCTYPE(None, Pool, ctypes.POINTER(Stats), PTR)
HOLDER_FN = ctypes.CFUNCTYPE(None, ctypes.POINTER(Holder), PTR)

# The type of its result, and those of its arguments.
SIGNATURES = {
    "egb_shared_create": (INT, [PTR, PTR]),
    "egb_shared_attach": (INT, [PTR, TEXT, UINT]),
    "egb_shared_attach_fd": (INT, [PTR, INT, UINT]),
    "egb_shared_fd": (INT, [PTR]),
    "egb_shared_close": (None, [PTR]),
    "egb_shared_alloc": (PTR, [PTR]),
    "egb_shared_alloc_wait": (INT, [PTR, PTR, U64]),
    "egb_shared_handle": (Frame, [PTR, PTR]),
    "egb_shared_open": (INT, [PTR, Frame, PTR]),
    "egb_shared_retain": (None, [PTR, PTR]),
    "egb_shared_release": (None, [PTR, PTR]),
    "egb_shared_publish": (INT, [PTR, PTR, PTR, PTR]),
    "egb_shared_next": (INT, [PTR, U64, U64, PTR]),
    "egb_shared_take": (INT, [PTR, U64, PTR]),
    "egb_shared_latest": (INT, [PTR, PTR]),
    "egb_shared_cancel": (None, [PTR]),
    "egb_shared_recover": (SIZE, [PTR]),
    "egb_shared_stats": (INT, [PTR, PTR]),
    "egb_shared_about": (PTR, [PTR, PTR]),
    "egb_shared_each": (None, [PTR, PTR, PTR]),
    "egb_shared_holders": (U64, [PTR, SIZE]),
    "egb_shared_look": (INT, [TEXT, PTR, PTR, PTR]),
    "egb_shared_gc": (SIZE, []),
    "egb_status_text": (TEXT, [INT]),
    "egb_level_text": (TEXT, [INT]),
    "egb_misuse_text": (TEXT, [INT]),
    "egb_misuse": (None, [PTR]),
    "egb_misuse_set_handler": (None, [PTR, PTR]),
    "egb_fixed_bytes": (SIZE, [SIZE, SIZE]),
    "egb_fixed_init": (INT, [PTR, PTR, SIZE, SIZE]),
    "egb_fixed_init_checked": (INT, [PTR, PTR, SIZE, SIZE, PTR, SIZE]),
    "egb_fixed_init_outside": (INT, [PTR, PTR, SIZE, SIZE, PTR, SIZE]),
    "egb_fixed_init_unchecked": (INT, [PTR, PTR, SIZE, SIZE]),
    "egb_fixed_alloc": (PTR, [PTR]),
    "egb_fixed_free": (None, [PTR, PTR]),
    "egb_fixed_alloc_unchecked": (PTR, [PTR]),
    "egb_fixed_free_unchecked": (None, [PTR, PTR]),
    "egb_fixed_resize": (INT, [PTR, SIZE]),
    "egb_fixed_clear": (None, [PTR]),
    "egb_fixed_owns": (BOOL, [PTR, PTR]),
    "egb_fixed_is_live": (BOOL, [PTR, PTR]),
    "egb_fixed_capacity": (SIZE, [PTR]),
    "egb_fixed_in_use": (SIZE, [PTR]),
    "egb_fixed_available": (SIZE, [PTR]),
    "egb_fixed_peak": (SIZE, [PTR]),
    "egb_fixed_touched": (SIZE, [PTR]),
    "egb_fixed_whole": (BOOL, [PTR]),
    "egb_static_backing": (Backing, [PTR]),
    "egb_growing_init": (INT, [PTR, PTR]),
    "egb_growing_destroy": (None, [PTR]),
    "egb_growing_alloc": (PTR, [PTR]),
    "egb_growing_free": (None, [PTR, PTR]),
    "egb_growing_reserve": (INT, [PTR, SIZE]),
    "egb_growing_trim": (SIZE, [PTR, SIZE]),
    "egb_growing_each": (None, [PTR, BLOCK_FN, PTR]),
    "egb_growing_owns": (BOOL, [PTR, PTR]),
    "egb_growing_capacity": (SIZE, [PTR]),
    "egb_growing_in_use": (SIZE, [PTR]),
    "egb_growing_peak": (SIZE, [PTR]),
    "egb_growing_held": (SIZE, [PTR]),
    "egb_growing_whole": (BOOL, [PTR]),
    "egb_slots_init": (INT, [PTR, PTR, SIZE, SIZE, SIZE]),
    "egb_slots_start_at": (INT, [PTR, ctypes.c_uint32]),
    "egb_slots_insert": (PTR, [PTR, PTR]),
    "egb_slots_get": (PTR, [PTR, Slot]),
    "egb_slots_contains": (BOOL, [PTR, Slot]),
    "egb_slots_erase": (BOOL, [PTR, Slot]),
    "egb_slots_retire": (INT, [PTR, Slot, U64]),
    "egb_slots_advance": (SIZE, [PTR, U64, BLOCK_FN, PTR]),
    "egb_slots_next": (PTR, [PTR, PTR]),
    "egb_slots_handle": (Slot, [PTR, PTR]),
    "egb_slots_in_use": (SIZE, [PTR]),
    "egb_slots_in_limbo": (SIZE, [PTR]),
    "egb_slots_given_up": (SIZE, [PTR]),
    "egb_slots_capacity": (SIZE, [PTR]),
    "egb_slots_whole": (BOOL, [PTR]),
    "egb_block_check": (INT, [PTR]),
    "egb_pool_check": (SIZE, [Pool]),
    "egb_process_check": (SIZE, []),
    "egb_seal": (None, []),
    "egb_unseal": (None, []),
    "egb_holders_each": (INT, [Pool, HOLDER_FN, PTR]),
    "egb_holders_print": (SIZE, [Pool, SIZE]),
    "egb_pool_alloc_at": (PTR, [Pool, TEXT, UINT]),
    "egb_malloc": (PTR, [SIZE]),
    "egb_calloc": (PTR, [SIZE, SIZE]),
    "egb_realloc": (PTR, [PTR, SIZE]),
    "egb_aligned_alloc": (PTR, [SIZE, SIZE]),
    "egb_heap_pool": (Pool, []),
    "egb_heap_purge": (SIZE, []),
    "egb_heap_trim": (SIZE, [SIZE]),
    "egb_heap_measure": (None, [BOOL]),
    "egb_heap_guard_pages": (INT, [TEXT]),
    "egb_heap_get_stats": (INT, [PTR]),
    "egb_pool_bytes": (SIZE, [PTR, SIZE]),
    "egb_pool_create": (INT, [PTR, PTR]),
    "egb_pool_destroy": (INT, [Pool, INT]),
    "egb_pool_alive": (BOOL, [Pool]),
    "egb_pool_alloc": (PTR, [Pool]),
    "egb_pool_free": (None, [Pool, PTR]),
    "egb_pool_alloc_for": (INT, [Pool, PTR, UINT]),
    "egb_pool_cancel": (SIZE, [Pool]),
    "egb_pool_waiting": (SIZE, [Pool]),
    "egb_pool_alloc_many": (SIZE, [Pool, PTR, SIZE]),
    "egb_pool_free_many": (None, [Pool, PTR, SIZE]),
    "egb_pool_reserve": (INT, [Pool, SIZE]),
    "egb_pool_trim": (SIZE, [Pool, SIZE]),
    "egb_pool_get_stats": (INT, [Pool, PTR]),
    "egb_pool_get_subtree_stats": (INT, [Pool, PTR]),
    "egb_pool_touched": (SIZE, [Pool]),
    "egb_pool_parent": (Pool, [Pool]),
    "egb_pool_is_ancestor": (BOOL, [Pool, Pool]),
    "egb_pool_each": (None, [Pool, POOL_FN, PTR]),
    "egb_pool_each_stats": (None, [Pool, STATS_FN, PTR]),
    "egb_pool_each_block": (None, [Pool, BLOCK_FN, PTR]),
    "egb_free": (None, [PTR]),
    "egb_pool_of": (Pool, [PTR]),
    "egb_pool_is_live": (BOOL, [Pool, PTR]),
    "egb_block_bytes": (SIZE, [PTR]),
    "egb_magazine_open": (INT, [PTR, Pool]),
    "egb_magazine_alloc": (PTR, [PTR]),
    "egb_magazine_free": (None, [PTR, PTR]),
    "egb_magazine_close": (None, [PTR]),
    "egb_report_write": (INT, [TEXT]),
    "egb_report_restart": (None, []),
    "egb_report_announce": (None, [TEXT]),
    **linkable_boards.SIGNATURES,
}

TABLE = [*linkable_boards.TABLE]  # ([name], function): the function calls each of these names


def calls(*names):
    def enter(function):
        TABLE.append((names, function))
        return function
    return enter


def memory(count):
    """Zeroed bytes, for a region, or for an object of the library: more than any of them takes."""
    return (ctypes.c_uint64 * (count // 8))()


def new_pool(library, **options):
    pool = Pool()
    status = library.egb_pool_create(
        ctypes.byref(pool), ctypes.byref(PoolOptions(**{"block_bytes": 48, **options})))
    assert status == OK, status
    return pool


def same(one, other):
    return bytes(one) == bytes(other)


@contextlib.contextmanager
def stderr_to(file):
    """The value that C code writes there."""
    kept = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


# ---- base, check --------------------------------------------------------------------------------

@calls("egb_status_text", "egb_level_text", "egb_misuse_text")
def texts(library):
    assert library.egb_status_text(OK) == b"ok"
    assert library.egb_level_text(3) == b"guard"
    assert library.egb_misuse_text(5) == b"double free"


@calls("egb_misuse", "egb_misuse_set_handler")
def misuse(library):
    kinds = []

    @MISUSE_FN
    def handler(event, user):
        kinds.append((event.contents.kind, user))
    library.egb_misuse_set_handler(ctypes.cast(handler, PTR), 77)
    library.egb_misuse(ctypes.byref(Event(kind=2)))
    block = library.egb_malloc(40)
    library.egb_free(block)
    library.egb_free(block)
    assert kinds == [(2, 77), (5, 77)], kinds


# ---- fixed --------------------------------------------------------------------------------------

@calls("egb_fixed_init", "egb_fixed_alloc", "egb_fixed_free", "egb_fixed_resize",
       "egb_fixed_clear", "egb_fixed_bytes", "egb_fixed_capacity", "egb_fixed_in_use",
       "egb_fixed_available", "egb_fixed_peak", "egb_fixed_touched", "egb_fixed_owns",
       "egb_fixed_is_live", "egb_fixed_whole")
def fixed(library):
    pool, region = memory(256), memory(4096)
    assert library.egb_fixed_bytes(16, 8) == 128
    assert library.egb_fixed_init(pool, region, 128, 16) == OK
    blocks = [library.egb_fixed_alloc(pool) for _ in range(9)]
    assert blocks == [ctypes.addressof(region) + 16 * i for i in range(8)] + [None]
    for block in blocks:
        library.egb_fixed_free(pool, block)
    assert library.egb_fixed_alloc(pool) == blocks[7]
    assert library.egb_fixed_is_live(pool, blocks[7])
    assert library.egb_fixed_owns(pool, blocks[0])
    assert not library.egb_fixed_is_live(pool, blocks[0])
    assert (library.egb_fixed_capacity(pool), library.egb_fixed_in_use(pool),
            library.egb_fixed_available(pool), library.egb_fixed_peak(pool),
            library.egb_fixed_touched(pool)) == (8, 1, 7, 8, 8)
    library.egb_fixed_clear(pool)
    assert library.egb_fixed_resize(pool, 256) == OK
    assert library.egb_fixed_capacity(pool) == 16 and library.egb_fixed_whole(pool)


@calls("egb_fixed_init_checked", "egb_fixed_init_outside")
def fixed_with_live_bits(library):
    pool, region, aside = memory(256), memory(4096), memory(4096)
    for init in (library.egb_fixed_init_checked, library.egb_fixed_init_outside):
        assert init(pool, region, 128, 16, aside, 4096) == OK
        assert init(pool, region, 128, 16, None, 4096) == INVALID
        block = library.egb_fixed_alloc(pool)
        library.egb_fixed_free(pool, block)
        assert block == ctypes.addressof(region) and library.egb_fixed_alloc(pool) == block


@calls("egb_fixed_init_unchecked", "egb_fixed_alloc_unchecked", "egb_fixed_free_unchecked")
def fixed_unchecked(library):
    pool, region = memory(256), memory(4096)
    assert library.egb_fixed_init_unchecked(pool, region, 128, 16) == OK
    blocks = [library.egb_fixed_alloc_unchecked(pool) for _ in range(9)]
    assert blocks[0] == ctypes.addressof(region) and blocks[8] is None
    library.egb_fixed_free_unchecked(pool, blocks[3])
    assert library.egb_fixed_alloc_unchecked(pool) == blocks[3]


# ---- growing ------------------------------------------------------------------------------------

@calls("egb_static_backing", "egb_growing_init", "egb_growing_destroy", "egb_growing_alloc",
       "egb_growing_free", "egb_growing_reserve", "egb_growing_trim", "egb_growing_each",
       "egb_growing_owns", "egb_growing_capacity", "egb_growing_in_use", "egb_growing_peak",
       "egb_growing_held", "egb_growing_whole")
def growing(library):
    pool, area = memory(1024), memory(4096)
    region = Region(ctypes.addressof(area), 4096, False)
    options = GrowingOptions(block_bytes=32,
                             backing=library.egb_static_backing(ctypes.byref(region)))
    assert library.egb_growing_init(pool, ctypes.byref(options)) == OK
    assert library.egb_growing_reserve(pool, 10) == OK and region.is_out
    block = library.egb_growing_alloc(pool)
    seen = []
    library.egb_growing_each(pool, BLOCK_FN(lambda block, user: seen.append((block, user))), 9)
    assert seen == [(block, 9)]
    assert library.egb_growing_owns(pool, block) and library.egb_growing_whole(pool)
    assert library.egb_growing_in_use(pool) == 1 and library.egb_growing_held(pool) == 4096
    library.egb_growing_free(pool, block)
    assert library.egb_growing_peak(pool) == 1 and library.egb_growing_capacity(pool) > 100
    assert library.egb_growing_trim(pool, 0) == 4096
    library.egb_growing_destroy(pool)
    assert not region.is_out and not library.egb_growing_whole(pool)


# ---- slots --------------------------------------------------------------------------------------

@calls("egb_slots_init", "egb_slots_start_at", "egb_slots_insert", "egb_slots_get",
       "egb_slots_contains", "egb_slots_erase", "egb_slots_retire", "egb_slots_advance",
       "egb_slots_next", "egb_slots_handle", "egb_slots_in_use", "egb_slots_in_limbo",
       "egb_slots_given_up", "egb_slots_capacity", "egb_slots_whole")
def slots(library):
    table, area = memory(256), memory(4096)
    one, two, at = Slot(), Slot(), Slot()
    assert library.egb_slots_init(table, area, 4096, 24, 10) == OK
    assert library.egb_slots_start_at(table, 3) == OK
    first = library.egb_slots_insert(table, ctypes.byref(one))
    second = library.egb_slots_insert(table, ctypes.byref(two))
    assert (one.generation, second - first) == (7, 24)
    assert library.egb_slots_get(table, two) == second
    assert same(library.egb_slots_handle(table, second), two)
    assert library.egb_slots_next(table, ctypes.byref(at)) == first and same(at, one)
    assert library.egb_slots_erase(table, one) and not library.egb_slots_contains(table, one)
    assert library.egb_slots_retire(table, two, 5) == OK
    assert library.egb_slots_in_limbo(table) == 1 and library.egb_slots_in_use(table) == 0
    seen = []
    visit = BLOCK_FN(lambda element, user: seen.append((element, user)))
    assert library.egb_slots_advance(table, 6, visit, 9) == 1 and seen == [(second, 9)]
    assert library.egb_slots_given_up(table) == 0 and library.egb_slots_capacity(table) == 10
    assert library.egb_slots_whole(table)


# ---- pool ---------------------------------------------------------------------------------------

@calls("egb_pool_create", "egb_pool_destroy", "egb_pool_alive", "egb_pool_alloc", "egb_pool_free",
       "egb_pool_alloc_many", "egb_pool_free_many", "egb_pool_is_live", "egb_pool_of",
       "egb_block_bytes", "egb_free", "egb_pool_alloc_for", "egb_pool_cancel", "egb_pool_waiting")
def pool_blocks(library):
    pool = new_pool(library, max_blocks=100)
    blocks = [library.egb_pool_alloc(pool) for _ in range(101)]
    assert len(set(blocks)) == 101 and blocks[100] is None
    out = PTR(1)
    assert library.egb_pool_alloc_for(pool, ctypes.byref(out), 1) == TIMED_OUT and not out.value
    assert library.egb_pool_cancel(pool) == 0 == library.egb_pool_waiting(pool)
    assert same(library.egb_pool_of(blocks[5]), pool)
    assert library.egb_block_bytes(blocks[5]) == 48 and library.egb_pool_is_live(pool, blocks[5])
    library.egb_free(blocks[5])
    assert not library.egb_pool_is_live(pool, blocks[5])
    library.egb_pool_free(pool, blocks[6])
    many = (PTR * 3)()
    assert library.egb_pool_alloc_many(pool, many, 3) == 2 and set(many[:2]) == set(blocks[5:7])
    library.egb_pool_free_many(pool, many, 2)
    assert not library.egb_pool_is_live(pool, blocks[6])
    assert library.egb_pool_destroy(pool, 0) == 5 and library.egb_pool_alive(pool)
    assert library.egb_pool_destroy(pool, 1) == OK and not library.egb_pool_alive(pool)


@calls("egb_pool_reserve", "egb_pool_trim", "egb_pool_get_stats", "egb_pool_get_subtree_stats",
       "egb_pool_touched", "egb_pool_parent", "egb_pool_is_ancestor", "egb_pool_each",
       "egb_pool_each_stats", "egb_pool_each_block")
def pool_questions(library):
    above = new_pool(library, name=b"above")
    below = new_pool(library, name=b"below", parent=above)
    assert library.egb_pool_reserve(below, 1000) == OK
    block = library.egb_pool_alloc(below)
    stats = Stats()
    assert library.egb_pool_get_stats(below, ctypes.byref(stats)) == OK
    assert (stats.name, stats.pools, stats.in_use) == (b"below", 1, 1)
    assert stats.capacity >= 1000
    assert library.egb_pool_get_subtree_stats(above, ctypes.byref(stats)) == OK
    assert (stats.name, stats.pools, stats.in_use) == (b"above", 2, 1)
    assert library.egb_pool_touched(below) >= 1
    assert same(library.egb_pool_parent(below), above)
    assert library.egb_pool_is_ancestor(above, below)
    assert not library.egb_pool_is_ancestor(below, above)
    pools, blocks = [], []
    library.egb_pool_each(above, POOL_FN(lambda pool, user: pools.append(bytes(pool))), None)
    assert pools == [bytes(above), bytes(below)]
    counts = []
    count = STATS_FN(lambda pool, stats, user: counts.append(
        (stats.contents.name, stats.contents.in_use)))
    library.egb_pool_each_stats(above, count, None)
    assert counts == [(b"above", 0), (b"below", 1)]
    library.egb_pool_each_block(below, BLOCK_FN(lambda block, user: blocks.append(block)), None)
    assert blocks == [block]
    library.egb_pool_free(below, block)
    assert library.egb_pool_trim(below, 0) > 0


@calls("egb_pool_bytes")
def pool_bytes(library):
    options = PoolOptions(block_bytes=48)
    region = ctypes.create_string_buffer(library.egb_pool_bytes(ctypes.byref(options), 9))
    pool = new_pool(library, memory=ctypes.addressof(region), memory_bytes=len(region),
                    max_blocks=9)
    assert all(library.egb_pool_alloc(pool) for _ in range(9))
    assert library.egb_pool_destroy(pool, 1) == OK


@calls("egb_magazine_open", "egb_magazine_alloc", "egb_magazine_free", "egb_magazine_close")
def cache(library):
    pool, mine = new_pool(library), memory(1024)
    assert library.egb_magazine_open(mine, pool) == OK
    block = library.egb_magazine_alloc(mine)
    assert library.egb_pool_is_live(pool, block)
    library.egb_magazine_free(mine, block)
    assert library.egb_magazine_alloc(mine) == block
    library.egb_magazine_free(mine, block)
    library.egb_magazine_close(mine)
    assert library.egb_pool_destroy(pool, 0) == OK


# ---- guard --------------------------------------------------------------------------------------

@calls("egb_block_check", "egb_pool_check", "egb_process_check")
def guard(library):
    pool = new_pool(library, level=3)
    block = library.egb_pool_alloc(pool)
    assert (library.egb_block_check(block), library.egb_pool_check(pool),
            library.egb_process_check()) == (OK, 0, 0)
    assert library.egb_block_check(None) == INVALID


@calls("egb_seal", "egb_unseal")
def seal(library):
    kinds = []
    handler = MISUSE_FN(lambda event, user: kinds.append(event.contents.kind))
    library.egb_misuse_set_handler(ctypes.cast(handler, PTR), None)
    pool = new_pool(library)
    library.egb_seal()
    assert library.egb_pool_alloc(pool) is None and kinds == [11]
    library.egb_unseal()
    assert library.egb_pool_alloc(pool) is not None


@calls("egb_pool_alloc_at", "egb_holders_each", "egb_holders_print")
def holders(library):
    pool = new_pool(library, name=b"frames", level=4)
    block = library.egb_pool_alloc_at(pool, b"other.rs", 42)
    seen = []

    @HOLDER_FN
    def visit(holder, user):
        one = holder.contents
        seen.append((one.pool_name, one.file, one.line, one.blocks, one.bytes, user))
    assert library.egb_holders_each(pool, visit, 5) == OK
    assert seen == [(b"frames", b"other.rs", 42, 1, 48, 5)], seen
    with tempfile.TemporaryFile() as file:
        with stderr_to(file):
            assert library.egb_holders_print(pool, 10) == 1
        file.seek(0)
        assert b"other.rs:42" in file.read()
    library.egb_pool_free(pool, block)
    untracked = new_pool(library)
    assert library.egb_pool_alloc_at(untracked, b"other.rs", 43) is not None


# ---- heap ---------------------------------------------------------------------------------------

@calls("egb_malloc", "egb_calloc", "egb_realloc", "egb_aligned_alloc", "egb_heap_pool",
       "egb_heap_purge", "egb_heap_trim")
def heap(library):
    block = library.egb_malloc(100)
    ctypes.memset(block, 7, 100)
    block = library.egb_realloc(block, 100000)
    assert ctypes.string_at(block, 100) == b"\7" * 100
    library.egb_free(block)
    zero = library.egb_calloc(10, 10)
    assert ctypes.string_at(zero, 100) == bytes(100)
    aligned = library.egb_aligned_alloc(256, 10)
    assert aligned % 256 == 0
    assert library.egb_pool_is_ancestor(library.egb_heap_pool(), library.egb_pool_of(zero))
    library.egb_free(zero)
    library.egb_free(aligned)
    assert library.egb_heap_trim(0) > 0
    assert library.egb_heap_purge() == 0


@calls("egb_heap_measure", "egb_heap_guard_pages", "egb_heap_get_stats")
def heap_numbers(library):
    numbers = memory(16384)
    library.egb_heap_measure(True)
    block = library.egb_malloc(100)
    assert library.egb_heap_guard_pages(b"nonsense") == INVALID
    assert library.egb_heap_guard_pages(b"large") in (OK, UNSUPPORTED)
    large = library.egb_malloc(1 << 20)
    assert library.egb_heap_get_stats(numbers) == OK and numbers[0] == 1
    assert library.egb_heap_get_stats(None) == INVALID
    library.egb_free(large)
    library.egb_free(block)
    assert library.egb_heap_get_stats(numbers) == OK and numbers[1] == 1


# ---- report -------------------------------------------------------------------------------------

@calls("egb_report_write", "egb_report_restart", "egb_report_announce")
def report(library):
    library.egb_free(library.egb_malloc(1))
    library.egb_report_restart()
    with tempfile.TemporaryDirectory() as folder:
        library.egb_report_announce(folder.encode())
        assert len(os.listdir(folder)) == (1 if sys.platform == "linux" else 0)
        status = library.egb_report_write(folder.encode())
        assert status == (OK if sys.platform == "linux" else UNSUPPORTED), status
        if status == OK:
            assert [name for name in os.listdir(folder) if name.endswith(".json")]
    assert library.egb_report_write(None) in (INVALID, UNSUPPORTED)


@calls("egb_shared_create", "egb_shared_attach", "egb_shared_attach_fd", "egb_shared_fd",
       "egb_shared_close", "egb_shared_alloc", "egb_shared_alloc_wait", "egb_shared_handle",
       "egb_shared_open", "egb_shared_retain", "egb_shared_release", "egb_shared_holders")
def shared_blocks(library):
    pool, again, block = PTR(), PTR(), PTR()
    options = SharedOptions(block_bytes=100, count=2)
    status = library.egb_shared_create(ctypes.byref(pool), ctypes.byref(options))
    assert status == (OK if sys.platform == "linux" else UNSUPPORTED), status
    assert library.egb_shared_attach(ctypes.byref(again), b"", 0) == INVALID
    status = library.egb_shared_attach_fd(ctypes.byref(again), library.egb_shared_fd(pool), 0)
    assert status == (OK if sys.platform == "linux" else INVALID), status
    if status == OK:
        one = library.egb_shared_alloc(pool)
        library.egb_shared_retain(pool, one)
        library.egb_shared_release(pool, one)
        frame = library.egb_shared_handle(pool, one)
        assert library.egb_shared_open(again, frame, ctypes.byref(block)) == OK
        assert library.egb_shared_holders(pool, 0) == 3
        assert library.egb_shared_alloc_wait(again, ctypes.byref(block), 0) == OK
    library.egb_shared_close(again)
    library.egb_shared_close(pool)


@calls("egb_shared_publish", "egb_shared_next", "egb_shared_take", "egb_shared_latest",
       "egb_shared_cancel", "egb_shared_recover", "egb_shared_stats", "egb_shared_about",
       "egb_shared_each", "egb_shared_look", "egb_shared_gc")
def shared_feed(library):
    pool, frame, stats, about = PTR(), Published(), SharedStats(), SIZE()
    options = SharedOptions(block_bytes=100, count=2, feed_count=1, about=b"it", about_bytes=2)
    status = library.egb_shared_create(ctypes.byref(pool), ctypes.byref(options))
    if status == OK:
        one = library.egb_shared_alloc(pool)
        assert library.egb_shared_publish(pool, one, None, None) == OK
        for status in (library.egb_shared_next(pool, 0, 0, ctypes.byref(frame)),
                       library.egb_shared_latest(pool, ctypes.byref(frame)),
                       library.egb_shared_take(pool, 0, ctypes.byref(frame))):
            assert status == OK and frame.block == one and frame.sequence == 1
        assert library.egb_shared_stats(pool, ctypes.byref(stats)) == OK
        assert stats.published == 1 and stats.in_use == 1 and stats.attachments == 1
    library.egb_shared_cancel(pool)
    assert library.egb_shared_recover(pool) == 0
    assert bool(library.egb_shared_about(pool, ctypes.byref(about))) == (about.value == 2)
    library.egb_shared_each(None, None, None)
    assert library.egb_shared_look(b"a/b", ctypes.byref(stats), None, None) == INVALID
    library.egb_shared_gc()
    library.egb_shared_close(pool)
