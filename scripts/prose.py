#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts two habits that make prose hard to read, and fails when there are too many of either.

usage: prose.py [--report] [--list PATH]... [ROOT]

A sentence ends with a full stop, "!", "?", a blank line, or the end of its comment, list item or
table cell. It has at least three words. Not counted: code blocks, `code` in Markdown, indented
code in comments, headings, and words that are quoted.

start    the sentence begins with Of, Where, Who, What, So or "But for"
clause   the sentence contains "what" with a verb or a pronoun behind it ("what is", "what they"),
         "who" with a verb behind it ("who has", "who asks"), or "of which", "of whom"

Questions ("What to do next?") are ordinary English and are in neither count.

The texts are of three kinds:
comments C and C++ comments; # comments of Python, CMake, shell and make; docstrings of Python
docs     Markdown
messages string literals of src/ and tools/ with at least four words: shown, without a limit

At most 3 % of the sentences of comments, and of docs, may be starts, and at most 2 % clauses. The
exit status is 1 when there are more, or when there is nothing to count. --report prints the same
and ends with 0. --list prints each sentence found under PATH (a file or a folder, from ROOT).
"""

import argparse
import ast
import collections
import io
import pathlib
import re
import sys
import tokenize

STARTS_PERCENT_MAX = 3
CLAUSES_PERCENT_MAX = 2
WORDS_MIN = 3
MESSAGE_WORDS_MIN = 4

START = re.compile(r"(?:of|where|who|what|so|but for)\b", re.I)
VERB = ("is|are|was|were|be|has|have|had|do|does|did|can|could|may|might|must|shall|should|will|"
        "would|to|comes?|came|goes|went|follows?|needs?|takes?|makes?|gives?|gave|uses?")
PRONOUN = "it|they|he|she|we|you|i|one|others?|nobody|this|that"
CLAUSE = re.compile(rf"\bwhat (?:{VERB}|{PRONOUN})\b|\bwho (?:{VERB}|[a-z]+s)\b"
                    r"|\bof (?:which|whom)\b", re.I)
SENTENCE_END = re.compile(r"""[.!?]["')*_]*(?=\s|$)""")
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|vs|cf|etc|[A-Z])\.$")
LIST_ITEM = re.compile(r"(?:[-*+]|\d+\.) ")

C_SUFFIXES = {".c", ".h", ".cpp", ".hpp"}
HASH_SUFFIXES = {".cmake", ".sh", ".txt"}
C_TOKEN = re.compile(r'R"(?P<raw>[^()\s]*)\(.*?\)(?P=raw)"'
                     r'|(?P<string>"(?:\\.|[^"\\\n])*")'
                     r"|'(?:\\.|[^'\\\n]){1,4}'"
                     r"|(?P<block>/\*.*?\*/)|(?P<line>//[^\n]*)", re.S)


def paragraphs(lines):
    """Splits numbered lines into texts: (number of each line's first character, text)."""
    text = []
    for number, line in lines:
        bare = line.strip()
        if text and (not bare or LIST_ITEM.match(bare)):
            yield text
            text = []
        if bare:
            text.append((number, LIST_ITEM.sub("", bare, count=1) if not text else bare))
    if text:
        yield text


def sentences(lines):
    """Yields (line number, sentence) for the sentences of a paragraph."""
    whole, numbers = "", []
    for number, line in lines:
        piece = line + " "
        numbers += [number] * len(piece)
        whole += piece
    start = 0
    for end in [found.end() for found in SENTENCE_END.finditer(whole)] + [len(whole)]:
        sentence = whole[start:end].strip()
        if ABBREVIATION.search(sentence) and end < len(whole):
            continue
        if len(re.findall(r"\w[\w'-]*", sentence)) >= WORDS_MIN:
            yield numbers[start + len(whole[start:end]) - len(whole[start:end].lstrip())], sentence
        start = end


def is_code(line):
    return line.startswith("    ") and re.search(r"[;{}]\s*$|^\s+#\s*include", line)


def comment_lines(number, text):
    """The lines of one comment without what marks them as a comment."""
    for line in text.splitlines():
        if "SPDX-License-Identifier" not in line and "clang-format o" not in line:
            line = re.sub(r"^\s*(?:///?[<!]?|/\*+[<!]?|\*(?!/))? ?|\s*\*+/\s*$", "", line)
            yield number, "" if is_code(line) else line
        number += 1


def c_comments(text):
    joined, last, last_line = [], None, 0
    for token in C_TOKEN.finditer(text):
        if not token["block"] and not token["line"]:
            continue
        number = text.count("\n", 0, token.start()) + 1
        is_alone = not text[text.rfind("\n", 0, token.start()) + 1:token.start()].strip()
        if joined and not (token["line"] and last == "line" and is_alone and
                           number == last_line + 1):
            yield joined
            joined = []
        joined += comment_lines(number, token[0])
        last = "line" if token["line"] else "block"
        last_line = number + token[0].count("\n")
    if joined:
        yield joined


def hash_comments(text):
    joined, last_line = [], 0
    for number, line in enumerate(text.splitlines(), start=1):
        found = re.match(r"(.*?)(?:^|\s)#+ (.*)$", line)
        if not found or "SPDX" in line or found[1].count('"') % 2 or found[1].count("'") % 2:
            continue
        if joined and (number > last_line + 1 or found[1].strip()):
            yield joined
            joined = []
        joined.append((number, found[2]))
        last_line = number
    if joined:
        yield joined


def python_comments(text):
    lines = text.splitlines()
    comments = [""] * len(lines)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            comments[row - 1] = " " * column + token.string
            if lines[row - 1][:column].strip():
                comments[row - 1] = "x" + comments[row - 1]
    yield from hash_comments("\n".join(comments))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and \
                ast.get_docstring(node) is not None:
            literal = node.body[0].value
            yield [(literal.lineno + row, line)
                   for row, line in enumerate(literal.value.splitlines())
                   if not line.startswith("usage:")]


def markdown_texts(text):
    """Paragraphs, list items and cells of tables; a line without prose ends the one before it."""
    text = re.sub(r"<!--.*?-->", lambda found: "\n" * found[0].count("\n"), text, flags=re.S)
    lines, in_code = [], False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
            line = ""
        line = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "code", line))
        line = line.lstrip("> ") if line.startswith(">") else line
        if line.startswith("|"):
            yield from ([(number, cell)] for cell in line.split("|"))
        if in_code or line.startswith(("#", "|", "    ")) and not LIST_ITEM.match(line.strip()):
            is_continued = line.startswith("    ") and lines and lines[-1][1] and not in_code
            line = line if is_continued else ""
        lines.append((number, line.replace("**", "")))
    yield lines


def messages(text):
    joined, last_end = [], 0
    for token in C_TOKEN.finditer(text):
        if not token["string"]:
            continue
        number = text.count("\n", 0, token.start()) + 1
        if text[text.rfind("\n", 0, token.start()) + 1:token.start()].lstrip().startswith("#"):
            continue  # an include
        if joined and text[last_end:token.start()].strip():
            yield joined
            joined = []
        words = re.sub(r"\\.|%\w+", " ", token["string"][1:-1])
        joined.append((number, words))
        last_end = token.end()
    if joined:
        yield joined


def texts(path, file):
    """Yields (kind, numbered lines) for each text of a file that people read."""
    text = file.read_text(errors="replace")
    if file.suffix in C_SUFFIXES:
        yield from (("comments", lines) for lines in c_comments(text))
        if path.startswith(("src/", "tools/")):
            yield from (("messages", lines) for lines in messages(text)
                        if sum(len(line.split()) for _, line in lines) >= MESSAGE_WORDS_MIN)
    elif file.suffix == ".py":
        yield from (("comments", lines) for lines in python_comments(text))
    elif file.suffix in HASH_SUFFIXES or file.name == "Makefile":
        yield from (("comments", lines) for lines in hash_comments(text))
    elif file.suffix == ".md":
        yield from (("docs", lines) for lines in markdown_texts(text))


def folder_of(path):
    parts = path.split("/")[:-1]
    deep = parts and parts[0] in ("docs", "include", "src", "tests", "tools")
    return "/".join(parts[:2] if deep else parts[:1]) or "."


def findings(sentence):
    if sentence.rstrip("\"')*_ ").endswith("?"):
        return []
    sentence = re.sub(r'"[^"]*"', "quoted", sentence)
    start = sentence.lstrip("\"'(*_ ")
    return [name for name, found in (("start", START.match(start)),
                                     ("clause", CLAUSE.search(sentence))) if found]


def count(root, wanted):
    """Counts per (kind, folder): sentences, starts, clauses; and lists the sentences asked for."""
    counts = collections.defaultdict(collections.Counter)
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root).as_posix()
        if not file.is_file() or {"build", ".git"} & set(path.split("/")):
            continue
        is_wanted = any(path == want or path.startswith(want.rstrip("/") + "/") or want == "."
                        for want in wanted)
        for kind, lines in texts(path, file):
            for number, sentence in (each for paragraph in paragraphs(lines)
                                     for each in sentences(paragraph)):
                found = findings(sentence)
                for key in (kind, folder_of(path)), (kind, "total"):
                    counts[key].update(["sentences", *found])
                if found and is_wanted:
                    print(f"{path}:{number}: {', '.join(found)}: {sentence}")
    return counts


def percent(counter, name):
    return 100 * counter[name] / max(counter["sentences"], 1)


def main():
    parser = argparse.ArgumentParser(description="Counts the sentences that are hard to read.")
    parser.add_argument("--report", action="store_true", help="print, and end with 0")
    parser.add_argument("--list", action="append", default=[], metavar="PATH")
    parser.add_argument("root", nargs="?", default=".", type=pathlib.Path)
    arguments = parser.parse_args()
    counts = count(arguments.root.resolve(), arguments.list)
    failures = []
    for kind in ("comments", "docs", "messages"):
        print(f"{kind:<24}{'sentences':>10}{'starts':>16}{'clauses':>16}")
        for (name, folder), counter in sorted(counts.items(), key=lambda item: (
                item[0][1] == "total", item[0])):
            if name == kind:
                print(f"  {folder:<22}{counter['sentences']:>10}"
                      + "".join(f"{counter[each]:>8} {percent(counter, each):5.1f} %"
                                for each in ("start", "clause")))
        total = counts[kind, "total"]
        for each, most in ("start", STARTS_PERCENT_MAX), ("clause", CLAUSES_PERCENT_MAX):
            if kind != "messages" and percent(total, each) > most:
                failures.append(f"{kind}: {percent(total, each):.1f} % of the sentences have a "
                                f"{each}, {most} % may; see them with --list PATH")
    if not counts["comments", "total"]["sentences"] + counts["docs", "total"]["sentences"]:
        failures.append("nothing to count")
    print("\n".join(failures) or "within the limits")
    return 1 if failures and not arguments.report else 0


if __name__ == "__main__":
    sys.exit(main())
