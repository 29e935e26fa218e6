# SPDX-License-Identifier: MIT
"""The sections of scripts/bench_originals.py: tables and plots for each document."""

import json
import pathlib
import statistics

from bench_report import NOISE, median_of, spread_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
PUBLISHED = json.loads((ROOT / "bench/originals/published.json").read_text(encoding="utf-8"))

SYSTEM = ("malloc", "new[]", "std")
NO_TRIM = ", no trim"
NOT_OURS = ("printed", "described")  # nor the system's: algorithms from their documents
RUNS = ("run 1", "run 2", "run 3")
SIZES = [2 ** i for i in range(4, 15)]

# section: (its cases begin so, title)
DOCUMENTS = {
    "kenwright": "Kenwright's pool",
    "elr": "elr_mpl",
    "allocator": "Allocator",
    "xallocator": "xallocator",
    "c_allocator": "C_Allocator: fb_allocator and x_allocator",
    "stm32": "The same with a microcontroller's numbers",
    "stl": "stl_allocator",
}


def of_system(rival):
    return rival.removesuffix(NO_TRIM) in SYSTEM


def is_of(name, document):
    return name == document or name.startswith((document + "/", document + "_"))


def samples(case, warm, column=None):
    """A list for each process, as in bench_report. A pass is the sum of its columns."""
    def value(one):
        return sum(one) if column is None else one[column]
    passes = slice(1, None) if warm else slice(0, 1)
    return {"samples": [[value(one) for one in process[passes]] for process in case["processes"]]}


def number(value):
    for least, digits in ((100, 0), (10, 1), (1, 2), (0.1, 3), (0, 4)):
        if value >= least:
            return f"{value:,.{digits}f}"
    return str(value)


def cell(case, warm, column=None, unit=1.0):
    return "" if case is None else number(median_of(samples(case, warm, column)) / unit)


def table(title, head, rows):
    return {"title": title, "head": head, "rows": rows}


def plot(title, unit, rows):
    """rows: (label, {series: value})"""
    return {"title": title, "unit": unit, "rows": rows}


# ---- comparison with glibc ---------------------------------------------------------------------


def figures_of(case, name):
    """(name, column) of each figure to compare: for elr_mpl each column, for others the sum."""
    if is_of(name, "elr"):
        return [(f"{name} {column}", i) for i, column in enumerate(case["columns"])]
    return [(name, None)]


def comparisons(cases, document, rival, warm):
    """(ratio, name): our time by that of the faster glibc; above 1 we are slower."""
    for (name, other), case in cases.items():
        if other != rival or not is_of(name, document):
            continue
        for what, column in figures_of(case, name):
            ours = median_of(samples(case, warm, column))
            theirs = [median_of(samples(one, warm, column))
                      for (there, system), one in cases.items()
                      if there == name and of_system(system)]
            if theirs and min(theirs) > 0:
                yield ours / min(theirs), what


def summary(cases):
    rows = []
    for document, title in DOCUMENTS.items():
        rivals = dict.fromkeys(rival for name, rival in cases if is_of(name, document)
                               and not of_system(rival) and not rival.startswith(NOT_OURS))
        for rival in rivals:
            for warm in (False, True):
                found = sorted(comparisons(cases, document, rival, warm), reverse=True)
                slower = [f"{what} {ratio:.2f}x" for ratio, what in found if ratio > 1 + NOISE]
                faster = sum(ratio < 1 - NOISE for ratio, _ in found)
                equal = len(found) - faster - len(slower)
                if found:
                    rows.append([title, rival, "warm" if warm else "cold", str(faster),
                                 str(equal), str(len(slower)), ", ".join(slower[:4])
                                 + (", ..." if len(slower) > 4 else "")])
    head = ["", "ours", "", "faster", "equal", "slower", "slower cases, and how many times"]
    return table("Ours beside the faster of the two glibcs, in how many figures", head, rows)


# ---- sections ----------------------------------------------------------------------------------


def source_of(name):
    one = PUBLISHED[name]
    return f"{one['source']}. Theirs: {one['machine']}."


def spread_row(cases, columns, width):
    """The last row of a table: how far the middle half of a column's samples lie apart."""
    found = [max((spread_of(samples(case, warm, column)) for case, warm, column in column_cases
                  if case is not None and median_of(samples(case, warm, column)) > 0), default=0)
             for column_cases in columns]
    row = ["spread, the largest"] + [""] * (width - 1 - len(found))
    return row + [f"{one:.0%}" for one in found]


def by_case(cases, title, names, rivals, warm, unit=1.0):
    """A row for each case, a column for each rival. names: (label, case)"""
    here = [rival for rival in rivals if any((name, rival) in cases for _, name in names)]
    rows = [[label, *(cell(cases.get((name, rival)), warm, None, unit) for rival in here)]
            for label, name in names if any((name, rival) in cases for rival in here)]
    columns = [[(cases.get((name, rival)), warm, None) for _, name in names] for rival in here]
    return table(title, ["", *here], [*rows, spread_row(cases, columns, len(here) + 1)])


def kenwright(cases):
    rivals = ["malloc", "malloc" + NO_TRIM, "Pool_c", "egb_fixed", "printed"]
    counts = (1000, 10000, 50000)
    names = [(f"{size} bytes, n = {count:,}", f"kenwright/{size}/{count}")
             for size in (16, 64, 256, 1024, 4096) for count in counts]
    ping = [(f"{size} bytes", f"kenwright_ping_pong/{size}") for size in (16, 64, 256, 1024, 4096)]
    plots = []
    for warm in (False, True):
        rows = [(f"{size} B", {rival: median_of(samples(cases[name, rival], warm)) / 1e4
                               for rival in rivals if (name, rival) in cases})
                for size in (16, 64, 256, 1024, 4096)
                for name in [f"kenwright/{size}/10000"]]
        plots.append(plot(f"n = 10,000, {'warm' if warm else 'cold'}", "ns a block", rows))
    text = [source_of("kenwright"), PUBLISHED["kenwright"]["note"],
            "Ours is our reading of the paper, which names neither sizes nor numbers. `printed` is "
            "its algorithm, written anew. Pool_c has a lock, the native egb_fixed has none."]
    return {"text": text, "plots": plots, "tables": [
        by_case(cases, "n allocations and n frees, cold: ms", names, rivals, False, 1e6),
        by_case(cases, "The same, warm: ms", names, rivals, True, 1e6),
        by_case(cases, "One block taken and given back, warm: ns", ping, rivals, True)]}


def elr_table(cases, column, name):
    published = PUBLISHED["elr"]["rows"]
    rivals = ("malloc", "malloc" + NO_TRIM, "elr_mpl", "egb_pool")
    columns = [("elr", rival, False) for rival in rivals]
    columns += [("elr_kept", rival, True) for rival in rivals]
    if name == "alloc":
        columns += [("elr", rival, True) for rival in rivals[::2]]
    kinds = {("elr", False): "cold", ("elr_kept", True): "warm", ("elr", True): "again"}
    head = ["bytes", "theirs, 2014: clib", "theirs, 2014: elr"]
    head += [f"{kinds[case, warm]}: {rival}" for case, rival, warm in columns]
    rows = [[f"{size:,}", *(number(one) for one in published[str(size)][2 * column:][:2]),
             *(cell(cases.get((f"{case}/{size}", rival)), warm, column)
               for case, rival, warm in columns)] for size in SIZES]
    seen = [[(cases.get((f"{case}/{size}", rival)), warm, column) for size in SIZES]
            for case, rival, warm in columns]
    return table(f"{name}: cycles a call, the counter's own included", head,
                 [*rows, spread_row(cases, seen, len(head))])


def elr(cases):
    names = ("alloc", "free", "access")
    rivals = ("malloc", "malloc" + NO_TRIM, "elr_mpl", "egb_pool")
    plots = [plot("Theirs, Athlon II, 2014: alloc", "cycles",
                  [(f"{size} B", dict(zip(("clib", "elr"), PUBLISHED["elr"]["rows"][str(size)])))
                   for size in SIZES])]
    for case, warm in (("elr", False), ("elr_kept", True)):
        rows = [(f"{size} B", {rival: median_of(samples(cases[f"{case}/{size}", rival], warm, 0))
                               for rival in rivals if (f"{case}/{size}", rival) in cases})
                for size in SIZES]
        plots.append(plot(f"Today: alloc, {'warm' if warm else 'cold'}", "cycles", rows))
    text = [source_of("elr"),
            "Cold is the document's program: one pass, with some 40 blocks in use at most. Most of "
            "the time of an alloc is then the first touch of memory. Warm are later passes on the "
            "same pool. `again` is the whole program once more, with pools made anew: malloc has "
            "its memory then, and a new pool has memory that the library kept of earlier pools. "
            "The cold mean at 16 bytes includes the first call of the library, which makes the "
            "things there are once in a process."]
    return {"text": text, "plots": plots,
            "tables": [elr_table(cases, i, name) for i, name in enumerate(names)]}


def has_more_runs(case):
    return all(len(process) > len(RUNS) for process in case["processes"])


def run_row(label, case, has_more):
    """The row of a table: the documents' runs and the later ones; and the values of the plot."""
    runs = [[sum(one) / 1e6 for one in process] for process in case["processes"]]
    values = [statistics.median(process[i] for process in runs) for i in range(len(RUNS))]
    later = [statistics.median(one for process in runs for one in process[len(RUNS):])
             ] if has_more else []
    return [label, *(number(one) for one in values + later),
            f"{spread_of(samples(case, True)):.0%}"], dict(zip(RUNS, values))


def run_tables(cases, title, name, theirs, year):
    """Runs 1, 2 and 3: theirs above, today's below; then the later runs, if there are any."""
    here = [(rival, case) for (case_name, rival), case in cases.items() if case_name == name]
    has_more = bool(here) and all(has_more_runs(case) for _, case in here)
    later = ["later"] if has_more else []
    rows = [[f"theirs, {year}: {label}", *(number(one) for one in values), *(len(later) * [""]), ""]
            for label, values in theirs.items()]
    dots = []
    for rival, case in here:
        row, values = run_row(rival, case, has_more)
        rows.append(row)
        dots.append((rival, values))
    made = table(f"{title}: ms", ["", *RUNS, *later, "spread, warm"], rows)
    return made, plot(f"{title}, today", "ms", dots)


def phases(document, cases):
    one = PUBLISHED[document]
    year = one["source"][-4:] if one["source"][-4:].isdigit() else "year unknown"
    tables, plots = [], [plot(f"Theirs, {one['machine'].split(';')[0]}", "ms",
                              [(label, dict(zip(RUNS, values)))
                               for label, values in one["rows"].items()])]
    for name, title, theirs in ((document, "As documented, blocks never touched", one["rows"]),
                                (document + "_touched", "Every block touched", {})):
        made, dots = run_tables(cases, title, name, theirs, year)
        tables.append(made)
        plots.append(dots)
    return {"text": [source_of(document), one["note"]], "tables": tables, "plots": plots}


def stl(cases):
    one = PUBLISHED["stl"]
    tables, plots = [], []
    for kind, theirs in one["rows"].items():
        made, dots = run_tables(cases, f"10,000 elements: {kind}", f"stl_{kind}", theirs, "2017")
        tables.append(made)
        plots.append(plot(f"Theirs, Visual Studio 2008: {kind}", "ms",
                          [(label, dict(zip(RUNS, values))) for label, values in theirs.items()]))
        plots.append(dots)
    return {"text": [source_of("stl"), one["note"]], "tables": tables, "plots": plots}


def without_empty(section):
    section["tables"] = [one for one in section["tables"] if len(one["rows"]) > 1]
    section["plots"] = [{**one, "rows": [row for row in one["rows"] if row[1]]}
                        for one in section["plots"] if any(row[1] for row in one["rows"])]
    return section


def sections(cases):
    made = [{"title": "In short", "text": [], "tables": [summary(cases)], "plots": []}]
    for document, title in DOCUMENTS.items():
        if any(is_of(name, document) for name, _ in cases):
            make = {"kenwright": kenwright, "elr": elr, "stl": stl}.get(document)
            section = make(cases) if make else phases(document, cases)
            made.append({"title": title, **without_empty(section)})
    return made
