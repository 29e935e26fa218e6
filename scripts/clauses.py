#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The contract of the public headers, clause by clause, and the tests that show each clause.

usage: clauses.py ROOT                checks docs/evidence/clauses/*.toml
       clauses.py ROOT --matrix FILE  and writes the matrix of clauses, tests and proof goals
       clauses.py ROOT --new HEADER   prints entries for the text that is in no clause yet

Each header has one file, with all of its contract cut into clauses, in the order of the header:

    [FIX-012]                      # the identifier; never used for another clause
    text = "Returns EGB_OK;"       # as in the header, whatever the line breaks
    tests = ["fixed.init_works"]   # SUITE.TEST of GoogleTest, or a test of CTest
    proof = ["cbmc marks"]         # optional: "wp FUNCTION" or "cbmc CASE" of scripts/prove.py

A clause without tests promises nothing, and its `kind` says why: "duty", the caller must keep it;
"limit", the library does not do this; "cost", a time or a lock that no test counts; "note", an
explanation.
"""

import argparse
import pathlib
import re
import sys
import tomllib

import misuse_catalogue
import prove
import tidy

FOLDER = "docs/evidence/clauses"
KINDS = ("duty", "limit", "cost", "note")
KEYS = {"text", "tests", "proof", "kind"}
ID = re.compile(r"[A-Z]+-\d{3}")

# Headers without clauses, and the reason.
UNTRACED = {
    "eggbox.h": "includes the others",
    "atomic_hot.h": "private",
    "fixed_live.h": "private",
    "fixed_static.h": "private",
    "heap_hot.h": "private",
    "live.h": "private",
    "lock.h": "private",
    "pool_hot.h": "private",
}

GTEST = re.compile(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.M)
INCLUDE = re.compile(r"^\s*include\(([\w/]+\.cmake)\)$", re.M)
HEAD_CONTRACT = re.compile(r"(Threads|Cost|Progress|Signals|Fork)  ")
PRIVATE_PART = re.compile(r"// ---- .*private")
PRIVATE_FIELDS = re.compile(r"treat every field as private", re.I)
OWNER = re.compile(r"#\s*define (\w+)|\(\*(egb_\w+)\)|\b(egb_\w+)\s*\(|(?:struct|enum) (egb_\w+)")
MEMBER = re.compile(r"([A-Za-z_]\w*)\)?(?:\(.*\)|\[.*\])?\s*(?:=\s*-?\w*)?[;,]?$")


def words(text):
    return " ".join(text.split())


def head_of(lines):
    """The contract of all calls: a paragraph in the comment that begins the file."""
    comment = []
    for line in lines:
        if not line.startswith("//"):
            break
        comment.append(line[2:].removeprefix(" "))
    starts = [i for i, line in enumerate(comment) if HEAD_CONTRACT.match(line)]
    return words(" ".join(comment[starts[0]:])) if starts else ""


def blocks_of(lines):
    """Each documented declaration, as its lines: up to a blank line outside of braces."""
    block, depth = [], 0
    for line in lines:
        if PRIVATE_PART.match(line):
            break
        if not block and not line.startswith("///"):
            continue
        if not line.strip() and depth == 0:
            yield block
            block = []
            continue
        block.append(line)
        code = line.split("//")[0]
        depth += code.count("{") - code.count("}")
    if block:
        yield block


def members_of(lines):
    """"NAME: comment" of each member with a comment, and each comment between the members."""
    texts, name, is_doc = [], None, False
    for line in lines:
        code, _, comment = line.partition("//")
        found = MEMBER.search(code.rstrip())
        name = found.group(1) if found else name
        if comment.startswith("/") and texts and is_doc:
            texts[-1] += comment[1:]
        elif comment.startswith("/"):
            texts.append(comment[1:])
        elif comment and code.strip() and name:
            texts.append(f"{name}: {comment}")
        elif comment and texts:
            texts[-1] += comment
        is_doc = comment.startswith("/")
    return [words(text) for text in texts]


def pieces_of(header):
    """(the name of a declaration, its contract) of a header, in order."""
    lines = header.read_text(encoding="utf-8").splitlines()
    if head_of(lines):
        yield "every call", head_of(lines)
    for block in blocks_of(lines):
        size = next((i for i, line in enumerate(block) if not line.startswith("///")), len(block))
        text = words(" ".join(line[3:] for line in block[:size]))
        if text.startswith("Private:"):
            continue
        found = OWNER.search(" ".join(block[size:]))
        owner = next(filter(None, found.groups())) if found else "?"
        yield owner, text
        if any("{" in line for line in block[size:]) and not PRIVATE_FIELDS.search(text):
            yield from ((owner, member) for member in members_of(block[size:]))


class Contract:
    """The contract of one header as one text, and where each declaration's part begins."""

    def __init__(self, header):
        self.text, self.owners = "", []
        for owner, text in pieces_of(header):
            self.owners.append((len(self.text), owner))
            self.text += text + " "

    def owner(self, place):
        return [owner for start, owner in self.owners if start <= place][-1]

    def gaps(self, start, end):
        """The text of [start, end) that no clause has, each declaration's for itself."""
        edges = [start, *(at for at, _ in self.owners if start < at < end), end]
        for first, last in zip(edges, edges[1:]):
            if self.text[first:last].strip():
                yield self.owner(first), self.text[first:last].strip()


class Trace:
    """The clauses of one file, compared with their header."""

    def __init__(self, root, name):
        self.name, self.clauses, self.owners = name, {}, {}
        self.contract = Contract(root / "include/eggbox" / name)
        self.gone, self.gaps = [], []
        file = root / FOLDER / f"{pathlib.Path(name).stem}.toml"
        if file.is_file():
            self.clauses = tomllib.loads(file.read_text(encoding="utf-8"))
        self.compare()

    def compare(self):
        place = 0
        for name, clause in self.clauses.items():
            text = words(clause.get("text", "")) or "?"
            found = self.contract.text.find(text + " ", place)
            if found < 0:
                self.gone.append(name)
                continue
            self.gaps += self.contract.gaps(place, found)
            self.owners[name] = self.contract.owner(found)
            place = found + len(text)
        self.gaps += self.contract.gaps(place, len(self.contract.text))


def headers_of(root):
    return [file.name for file in sorted((root / "include/eggbox").glob("*.h"))
            if file.name not in UNTRACED]


def with_included(file):
    """The text of a CMakeLists.txt, with that of the files of the tree that it includes."""
    return INCLUDE.sub(lambda found: (file.parent / found.group(1)).read_text(encoding="utf-8"),
                       file.read_text(encoding="utf-8"))


class Tests:
    """The tests that a clause may name: those of programs and scripts that CMake knows."""

    def __init__(self, root):
        self.cmake = {file.parent: with_included(file)
                      for file in (root / "tests").rglob("CMakeLists.txt")}
        self.names = misuse_catalogue.tests_of(root)
        for file in (root / "tests").rglob("*.cpp"):
            if not any(self.builds(folder, file) for folder in self.cmake):
                self.names -= {".".join(found) for found in GTEST.findall(file.read_text("utf-8"))}
        named = re.findall(r"\b(?:eggbox_add_test\(|add_test\(NAME )([\w.${}]+)",
                           "\n".join(self.cmake.values()))
        self.names.update(name for name in named if "$" not in name)
        self.names.update("cli." + name for text in self.cmake.values()
                          for name in re.findall(r"\beggbox_command_test\((\w+)", text))
        self.patterns = [re.sub(r"\\\$\\{\w+\\}", r"\\w+", re.escape(name))
                         for name in named if re.match(r"\w+\.\w+.*\$", name)]

    def builds(self, folder, file):
        if not file.is_relative_to(folder):
            return False
        path, text = file.relative_to(folder).as_posix(), self.cmake[folder]
        in_loop = path.replace(file.stem, "test_${subject}")  # foreach(subject ...)
        return path in text or \
            (in_loop in text and re.search(rf"\b{file.stem.removeprefix('test_')}\b", text))

    def __contains__(self, name):
        return name in self.names or \
            any(re.fullmatch(pattern, name) for pattern in self.patterns)


def goals_of():
    return {f"wp {name}" for name in prove.functions("proved")} | \
        {f"cbmc {name}" for name in prove.CBMC_CASES}


def clause_problems(name, clause, tests, goals):
    if not ID.fullmatch(name):
        yield f"{name}: an identifier is letters, a hyphen and three digits"
    if not set(clause) <= KEYS:
        yield f"{name}: unknown keys: {sorted(set(clause) - KEYS)}"
    if clause.get("kind", "duty") not in KINDS:
        yield f"{name}: there is no kind {clause['kind']}"
    shown, promises = clause.get("tests", []), "kind" not in clause
    if promises and not shown:
        yield f"{name}: no test shows it: {words(clause.get('text', ''))}"
    if not promises and (shown or "proof" in clause):
        yield f"{name}: a {clause['kind']} promises nothing, but it names tests"
    yield from (f"{name}: there is no test {test}" for test in shown if test not in tests)
    yield from (f"{name}: there is no goal {goal}" for goal in clause.get("proof", [])
                if goal not in goals)


def mention_problems(root, known):
    """Each identifier that a text of ours mentions is that of a clause."""
    letters = "|".join(sorted({name.split("-")[0] for name in known}))
    for folder in ("docs", "proof", "src", "tests"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in tidy.TEXTS:
                continue
            for name in re.findall(rf"\b(?:{letters})-\d{{3}}\b", file.read_text("utf-8")):
                if name not in known:
                    yield f"{file.relative_to(root)}: there is no clause {name}"


def problems_of(root, traces):
    tests, goals, seen = Tests(root), goals_of(), {}
    for trace in traces:
        where = f"include/eggbox/{trace.name}"
        for owner, text in trace.gaps:
            yield f"{where}: {owner}: in no clause: {text}"
        for name in trace.gone:
            yield f"{where}: {name}: the header does not say this, or not here: " \
                  f"{words(trace.clauses[name].get('text', ''))}"
        for name, clause in trace.clauses.items():
            yield from clause_problems(name, clause, tests, goals)
            if name in seen:
                yield f"{name}: in {seen[name]} and in {trace.name}"
            seen[name] = trace.name
    for file in sorted((root / FOLDER).glob("*.toml")):
        if file.stem + ".h" not in [trace.name for trace in traces]:
            yield f"{FOLDER}/{file.name}: there is no such header"
    yield from mention_problems(root, seen)


def kinds_of(traces):
    """How many clauses are of each kind; a promise has none."""
    kinds = [clause.get("kind", "promise")
             for trace in traces for clause in trace.clauses.values()]
    return {kind: kinds.count(kind) for kind in ("promise", *KINDS)}


def matrix_of(traces):
    kinds = kinds_of(traces)
    yield "# Clauses of the public headers, and what shows them"
    yield ""
    yield f"{kinds['promise']} promises, each with its tests; {kinds['duty']} duties of the " \
          f"caller; {kinds['limit']} limits; {kinds['cost']} costs that no test counts; " \
          f"{kinds['note']} notes."
    for trace in traces:
        yield f"\n## {trace.name}\n"
        yield "| clause | of | text | tests | proof |"
        yield "|---|---|---|---|---|"
        for name, clause in trace.clauses.items():
            tests = " ".join(f"`{test}`" for test in clause.get("tests", []))
            text = words(clause["text"]).replace("|", "\\|")
            yield f"| {name} | `{trace.owners[name]}` | {text} | " \
                  f"{tests or clause.get('kind')} | {'; '.join(clause.get('proof', []))} |"


def entries_of(trace):
    """Entries for text that is in no clause: cut at full stops and semicolons."""
    numbers = [int(name.split("-")[1]) for name in trace.clauses]
    letters = next((name.split("-")[0] for name in trace.clauses),
                   trace.name.removesuffix(".h").upper())
    number = max(numbers, default=0)
    for owner, text in trace.gaps:
        yield f"\n# ---- {owner}"
        for sentence in re.split(r"(?<=[.;]) (?=[A-Z`(])", text):
            number += 1
            quote = "'''" if '"' in sentence or "\\" in sentence else '"'
            yield f"\n[{letters}-{number:03}]\ntext = {quote}{sentence}{quote}\ntests = []"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--matrix", type=pathlib.Path)
    parser.add_argument("--new", metavar="HEADER")
    asked = parser.parse_args()
    if asked.new:
        print("\n".join(entries_of(Trace(asked.root, asked.new))))
        return 0
    traces = [Trace(asked.root, name) for name in headers_of(asked.root)]
    problems = list(problems_of(asked.root, traces))
    if problems:
        print("\n".join(problems))
        return 1
    if asked.matrix:
        asked.matrix.write_text("\n".join(matrix_of(traces)) + "\n", encoding="utf-8")
    kinds = kinds_of(traces)
    print(f"{kinds['promise']} promises of {len(traces)} headers, each with its tests; "
          f"{kinds['duty']} duties of the caller; {kinds['limit']} limits; "
          f"{kinds['cost']} costs; {kinds['note']} notes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
