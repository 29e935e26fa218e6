# SPDX-License-Identifier: MIT
"""The output of scripts/bench.py: a table for each pattern, and whether the targets are met."""

import statistics

NOISE = 0.03  # a smaller difference from a rival counts as none

# One malloc each; the names of scripts/bench.py's list.
MALLOCS = ("glibc", "glibc_no_trim", "mimalloc", "jemalloc", "tcmalloc")
OURS = "eggbox_pool", "eggbox_pool_off", "eggbox_cache"
# For one thread only. The first of Boost's pools reserves; only ping-pong has both.
BOOST = "boost_pool", "boost_pool_growing"
PMR = ("pmr_unsync",)
# For any thread, as ours.
BOOST_SYNC = ("boost_pool_sync",)
PMR_SYNC = ("pmr_sync",)
TBB = "tbb_pool", "tbb_scalable"
RIVALS = (
    ("Boost.Pool with a mutex", BOOST_SYNC),
    ("std::pmr, synchronized", PMR_SYNC),
    ("TBB", TBB),
    ("Boost.Pool, for one thread", BOOST),
    ("std::pmr, unsynchronized", PMR),
)
FIXED = tuple(
    "eggbox eggbox_static eggbox_unchecked eggbox_live_bits eggbox_cpp eggbox_cpp_unchecked".split()
)
ORDER = ("none", *FIXED, *OURS, *BOOST, *BOOST_SYNC, *PMR, *PMR_SYNC, *TBB, "printed", *MALLOCS)

PAIR_GOALS = (
    ("eggbox_unchecked", 5),
    ("eggbox", 3),
    ("eggbox_static", 3),
    ("eggbox_cpp", 3),
    ("eggbox_pool_off", 3),
    ("eggbox_pool", 2),
)
CACHE_GOAL = 1.5  # times the fixed pool's pair, at most
THREADS_GOAL = 1.9
CONTROL_PAGES = 0.25  # pages of its own that a new pool may touch: control blocks share pages

THREADED = "apart_pair", "together_pair", "apart_batch", "together_batch", "handover", "larson"
# `elr` prints cycles, with the clock in every number: these do not rank the rivals.
NOT_COMPARED = "create", "create_take", "ping_pong", "create_static"

TITLES = {
    "pair": "pair: take one, give it back (block bytes; ns per pair)",
    "pair_touched": "pair, and the block is written and read (block bytes; ns per pair)",
    "batch_lifo": "batch, given back newest first (block bytes; ns per pair)",
    "batch_fifo": "batch, given back oldest first (block bytes; ns per pair)",
    "batch_random": "batch, given back in random order (block bytes; ns per pair)",
    "churn": "churn: replace a random one of N live 64-byte blocks (N; ns per pair)",
    "apart_pair": "pairs, a pool for each thread (threads; ns of wall time per pair of a thread)",
    "together_pair": "pairs, one pool for all (threads; ns of wall time per pair of a thread)",
    "apart_batch": "batches of 1,000, a pool for each thread (threads; ns of wall time per pair)",
    "together_batch": "batches of 1,000, one pool for all (threads; ns of wall time per pair)",
    "handover": "one thread takes, another gives back (block bytes; ns of wall time per block)",
    "larson": "arrays of 1,000 blocks that go round (threads; ns of wall time per replacement)",
    "frames": "video frames, three in flight (frame bytes; ns per frame)",
    "tree": "make and drop a tree of N pools (N; ns per pool)",
    "tree_take": "the same, 16 blocks taken of each pool (N; ns per pool)",
    "tree_cold": "make N pools for the first time in a process (N; ns per pool)",
    "create_static": "make and drop a pool on storage of its own (bytes; ns)",
    "create": "create and drop a pool of N 16-byte blocks (N; ns)",
    "create_take": "create, take one, give it back, drop (N; ns)",
    "first_touch": "first touch: take and write 64 MiB of new memory (block bytes; ns per block)",
    "ping_pong": "ping-pong in a pool of 1,000,000 blocks of 4 KiB (ns per pair)",
    "elr_take": "elr as its authors ran it: take (block bytes; cycles, the clock's own included)",
    "elr_free": "elr as its authors ran it: free (block bytes; cycles, the clock's own included)",
    "elr_access": "elr as its authors ran it: write (block bytes; cycles, the clock's included)",
    "elr_cold": "elr without its traps, first pass of a process (block bytes; ns per step)",
    "elr_warm": "elr without its traps, later passes (block bytes; ns per step)",
}
COUNTERS = {  # pattern: (the line above, the counters)
    "create": ("pages touched", ("pages",)),
    "create_static": ("pages of the storage in memory once the pool is made", ("pages",)),
    "ping_pong": (
        "pages by which the process grew; pages of the pool then in memory",
        ("rss_pages", "pool_pages"),
    ),
    "frames": ("page faults and system calls, per frame", ("faults", "calls")),
    "tree_cold": ("page faults per pool", ("faults",)),
}


def median_of(case):
    return statistics.median(sample for one in case["samples"] for sample in one)


def ratios_of(above, below):
    """How many times longer `above` took in each round."""
    pairs = zip(above["samples"], below["samples"])
    return [statistics.median(a) / statistics.median(b) for a, b in pairs]


def ratio_of(above, below):
    """How many times longer `above` took, round by round if both ran in the same process."""
    return statistics.median(ratios_of(above, below))


def spread_of(case):
    """The width of the middle half of the samples, as a part of their median."""
    samples = sorted(sample for one in case["samples"] for sample in one)
    quarter = len(samples) // 4
    return (samples[-1 - quarter] - samples[quarter]) / median_of(case)


def in_words(ratios):
    return f"{statistics.median(ratios):.2f}x ({min(ratios):.2f} to {max(ratios):.2f})"


def sizes_of(cases, pattern):
    return sorted({size for one, size, _ in cases if one == pattern})


# ---- tables ------------------------------------------------------------------------------------


def table(cases, pattern):
    sizes = sizes_of(cases, pattern)
    rivals = [name for name in ORDER if any((pattern, size, name) in cases for size in sizes)]
    lines = [TITLES[pattern], "".join([f"{'':<22}"] + [f"{size:>14,}" for size in sizes])]
    for rival in rivals:
        line = f"{rival:<22}"
        for size in sizes:
            case = cases.get((pattern, size, rival))
            line += f"{median_of(case):>14,.2f}" if case else f"{'':>14}"
        lines.append(line)
    line = f"{'spread, the largest':<22}"
    for size in sizes:
        found = [cases[pattern, size, name] for name in rivals if (pattern, size, name) in cases]
        line += f"{max(spread_of(case) for case in found):>13.0%} "
    lines.append(line.rstrip())
    return lines


def fastest_malloc(cases, pattern, size):
    found = [name for name in MALLOCS if (pattern, size, name) in cases]
    return min(found, key=lambda name: median_of(cases[pattern, size, name]), default=None)


def ratio_table(cases, pattern):
    """How many times faster than the fastest malloc of the same run."""
    sizes = sizes_of(cases, pattern)
    fastest = {size: fastest_malloc(cases, pattern, size) for size in sizes}
    if None in fastest.values():
        return []
    lines = [f"{'fastest malloc':<22}" + "".join(f"{fastest[size]:>14}" for size in sizes)]
    for rival in ("eggbox", "eggbox_unchecked", *OURS):
        if any((pattern, size, rival) not in cases for size in sizes):
            continue
        line = f"{'  / ' + rival:<22}"
        for size in sizes:
            ours = median_of(cases[pattern, size, rival])
            line += f"{median_of(cases[pattern, size, fastest[size]]) / ours:>13.2f}x"
        lines.append(line)
    return lines


def speedup(cases, pattern, rival):
    """The work of two threads relative to one, in each round, by wall time and by CPU time."""
    one, two = cases.get((pattern, 1, rival)), cases.get((pattern, 2, rival))
    if one is None or two is None:
        return None
    return [2 * ratio for ratio in ratios_of(one, two)], 2 * one["cpu_ns"] / two["cpu_ns"]


def speedup_lines(cases, pattern):
    lines = []
    for rival in ORDER:
        found = speedup(cases, pattern, rival) if pattern != "handover" else None
        if found:
            wall, cpu = found
            lines.append(f"  {rival:<20}{in_words(wall):>32}   {cpu:.2f}x")
    if lines:
        lines.insert(0, "two threads against one: wall time (each round from .. to), CPU time")
    return lines


def counter_lines(cases, pattern):
    if pattern not in COUNTERS or not sizes_of(cases, pattern):
        return []
    title, counters = COUNTERS[pattern]
    lines = [title]
    ordered = sorted(cases.items(), key=lambda case: (ORDER.index(case[0][2]), case[0][1]))
    for (one, size, rival), case in ordered:
        if one == pattern:
            found = [f"{name} {case[name]:,.6g}" for name in counters if name in case]
            lines.append(f"  {rival:<20}{size:>14,}  " + "  ".join(found))
    return lines


def report_lines(cases):
    lines = []
    for pattern in TITLES:
        if sizes_of(cases, pattern):
            lines += table(cases, pattern) + ratio_table(cases, pattern)
            lines += speedup_lines(cases, pattern) + counter_lines(cases, pattern) + [""]
    lines.append("targets")
    for met, wanted, text in verdicts(cases):
        lines += [f"  {'met   ' if met else 'MISSED'}  {wanted}", f"          {text}"]
    return lines


# ---- the targets -------------------------------------------------------------------------------


def against(cases, ours, theirs, patterns):
    """The cases in which `ours` is faster than each of `theirs`, equal to it, or slower."""
    faster, equal, slower = [], [], []
    for (pattern, size, rival), case in cases.items():
        if rival != ours or pattern not in patterns:
            continue
        for other in theirs:
            if (pattern, size, other) in cases:
                ratio = ratio_of(cases[pattern, size, other], case)
                kind = equal if abs(ratio - 1) < NOISE else faster if ratio > 1 else slower
                name = f" {other}" if len(theirs) > 1 else ""
                kind.append((ratio, f"{pattern}/{size}{name} {ratio:.2f}x"))
    text = f"faster in {len(faster)}, equal within {NOISE:.0%} in {len(equal)}, "
    text += f"slower in {len(slower)}"
    for name, kind in (("slower", slower), ("equal", equal)):
        text += f"\n          {name}: " + (", ".join(words for _, words in sorted(kind)) or "none")
    return bool(faster) and not slower and not equal, text


def compared(cases):
    cycles = "elr_take", "elr_free", "elr_access"
    return {pattern for pattern, _, _ in cases} - {*NOT_COMPARED, *cycles}


def verdicts_rivals(cases):
    found = []
    of_pool = "frames", "tree", "tree_take", "tree_cold", "elr_cold", "elr_warm"
    old = compared(cases) - {*THREADED, *of_pool}
    if ("pair", 64, "eggbox_unchecked") in cases:
        met, text = against(cases, "eggbox_unchecked", BOOST[:1], old)
        found.append((met, "eggbox_unchecked faster than Boost.Pool on every pattern", text))
    for ours in OURS:
        for name, theirs in RIVALS:
            if any(rival in theirs for _, _, rival in cases):
                met, text = against(cases, ours, theirs, compared(cases))
                found.append((met, f"{ours} faster than {name} on every pattern", text))
            else:
                found.append((False, f"{ours} faster than {name} on every pattern", "not run"))
    return found


def verdicts_pairs(cases):
    found = []
    sizes = sizes_of(cases, "pair")
    for rival, goal in PAIR_GOALS:
        if ("pair", 64, rival) not in cases:
            continue
        ratios = {}
        for size in sizes:
            fastest = median_of(cases["pair", size, fastest_malloc(cases, "pair", size)])
            ratios[size] = fastest / median_of(cases["pair", size, rival])
        text = ", ".join(f"{size}: {ratio:.2f}x" for size, ratio in ratios.items())
        wanted = f"{rival}: pairs at least {goal}x faster than the fastest malloc"
        found.append((min(ratios.values()) >= goal, wanted, text))
    ratios = {
        size: ratio_of(cases["pair", size, "eggbox_cache"], cases["pair", size, "eggbox"])
        for size in sizes
    }
    text = ", ".join(f"{size}: {ratio:.2f}x" for size, ratio in ratios.items())
    wanted = f"eggbox_cache: a pair takes at most {CACHE_GOAL}x the fixed pool's time"
    found.append((max(ratios.values(), default=9) <= CACHE_GOAL, wanted, text))
    return found


def verdicts_threads(cases):
    found = []
    bare = speedup(cases, "apart_pair", "none")
    machine = f"; the loop without an allocator {in_words(bare[0])}" if bare else ""
    for ours in OURS:
        for pattern in THREADED[:4]:
            both = speedup(cases, pattern, ours)
            if both is None:
                continue
            wall, cpu = both
            wanted = f"{ours}: two threads do at least {THREADS_GOAL}x what one does, {pattern}"
            met = statistics.median(wall) >= THREADS_GOAL
            text = f"wall time {in_words(wall)}, CPU time {cpu:.2f}x{machine}"
            found.append((met, wanted, text))
    for ours in OURS:
        for pattern in ("handover", "larson"):
            texts, met = [], True
            for size in sizes_of(cases, pattern):
                fastest = fastest_malloc(cases, pattern, size)
                ratios = ratios_of(cases[pattern, size, fastest], cases[pattern, size, ours])
                texts.append(f"{size}: {in_words(ratios)} {fastest}")
                met = met and statistics.median(ratios) > 1
            wanted = f"{ours}: {pattern} ahead of the best malloc"
            found.append((met and bool(texts), wanted, ", ".join(texts) or "not run"))
    return found


def verdicts_pages(cases):
    found = []
    for ours in OURS[:2]:
        mine = [cases["frames", size, ours] for size in sizes_of(cases, "frames")]
        wanted = f"{ours}: a steady frame loop makes no page fault and no system call"
        met = bool(mine) and all(one["faults"] == 0 and one.get("calls") == 0 for one in mine)
        calls = ", ".join(str(one.get("calls", "not counted")) for one in mine)
        faults = ", ".join(f"{one['faults']:g}" for one in mine)
        found.append((met, wanted, f"faults per frame {faults}; calls per frame {calls}"))

        many = [cases["tree_cold", size, ours] for size in sizes_of(cases, "tree_cold")]
        wanted = f"{ours}: creating a pool touches no page but its control block's"
        faults = ", ".join(f"{one['faults']:.3f}" for one in many)
        met = bool(many) and all(one["faults"] <= CONTROL_PAGES for one in many)
        found.append((met, wanted, f"page faults per pool {faults}"))
    return found


def verdicts_fixed(cases):
    found = []
    for rival in ("eggbox", "eggbox_unchecked", "eggbox_live_bits"):
        counts = sorted(s for pattern, s, name in cases if pattern == "create" and name == rival)
        if not counts:
            continue
        small, large = (cases["create", size, rival] for size in (counts[0], counts[-1]))
        ratio = ratio_of(large, small)
        wanted = f"{rival}: create takes the same time for {counts[0]} and {counts[-1]:,} blocks"
        pages = int(max(cases["create", size, rival]["pages"] for size in counts))
        text = f"{median_of(small):.1f} and {median_of(large):.1f} ns, {pages} pages touched"
        found.append((0.9 < ratio < 1.1 and pages == 0, wanted + ", touching none", text))
    for (pattern, _, rival), case in cases.items():
        if pattern == "ping_pong" and rival.startswith("eggbox"):
            wanted = f"{rival}: ping-pong grows memory by at most two pages"
            text = f"process {case['rss_pages']:.0f}, pool {case['pool_pages']:.0f}"
            found.append((case["rss_pages"] <= 2 and case["pool_pages"] <= 2, wanted, text))
    return found


def verdicts(cases):
    """(met, target, result) for every target."""
    found = verdicts_pairs(cases) + verdicts_fixed(cases) + verdicts_threads(cases)
    return found + verdicts_pages(cases) + verdicts_rivals(cases)
