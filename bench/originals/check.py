#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A quick run of scripts/bench_originals.py has every case, and its page is whole and alone.

usage: check.py ROOT PROGRAM FOLDER
"""

import html.parser
import json
import pathlib
import subprocess
import sys

VOID = {"meta", "br", "hr", "img", "link", "input"}
SIZES = {"elr": 11, "elr_kept": 11}  # passes of one process


class Page(html.parser.HTMLParser):
    """Tags that are not closed in order, and addresses that a browser would fetch."""

    def __init__(self):
        super().__init__()
        self.open, self.problems, self.count = [], [], {}

    def handle_starttag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("script", "link", "img", "iframe", "object"):
            self.problems.append(f"there is a {tag}")
        for name, value in attrs:
            if name in ("src", "srcset", "data") or "url(" in (value or ""):
                self.problems.append(f"{tag} fetches {value}")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> at {self.getpos()} closes another tag")


def problems_of_page(text):
    page = Page()
    page.feed(text)
    page.close()
    yield from page.problems
    if page.open:
        yield f"not closed: {page.open}"
    for tag, least in (("title", 1), ("svg", 15), ("table", 15), ("h2", 9)):
        if page.count.get(tag, 0) < least:
            yield f"only {page.count.get(tag, 0)} {tag}"
    if "url(" in text or "@import" in text:
        yield "the style fetches something"


def wanted_of(program):
    """The number of records that each case and rival should have."""
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True)
    wanted = {}
    for line in listed.stdout.splitlines():
        case, rival = line.split(" ", 1)
        names = [rival, rival + ", no trim"] if rival in ("malloc", "new[]", "std") else [rival]
        wanted.update({(case, name): SIZES.get(case, 1) for name in names})
    return wanted


def problems_of_results(content, wanted):
    found = {}
    for one in content["cases"]:
        case = one["case"].rsplit("/", 1)[0] if one["case"].startswith("elr") else one["case"]
        found[case, one["rival"]] = found.get((case, one["rival"]), 0) + 1
    if found != wanted:
        yield f"missing or too many: {set(found.items()) ^ set(wanted.items())}"


def problems_of_document(script):
    """The tables of docs/originals.md are those of the run that is kept."""
    kept = json.loads((script.RESULTS / "originals-zen3-vm.json").read_text(encoding="utf-8"))
    sections = script.originals_tables.sections(script.cases_of(kept))
    made = "\n".join(script.originals_page.markdown(kept, sections))
    if made not in script.DOCUMENT.read_text(encoding="utf-8"):
        yield "docs/originals.md is not made of bench/results/originals-zen3-vm.json"


def problems_of_checks(script, content):
    """The checks notice a page that is incomplete, and a rival that does other work."""
    for broken in ("<p><b>x</p></b>", "<p>", '<img src="http://a/b.png"/>'):
        if next(iter(problems_of_page(broken))).startswith("only"):
            yield f"nothing is said of {broken}"
    cases = script.cases_of(content)
    next(iter(cases.values()))["hash"] = "another"
    try:
        script.same_work(cases)
        yield "a rival may do other work than the others"
    except SystemExit:
        pass


def main():
    root, program, folder = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    sys.path.insert(0, str(root / "scripts"))
    import bench_originals as script  # pylint: disable=import-outside-toplevel
    command = [sys.executable, script.__file__, "--quick", "--program", program]
    subprocess.run([*command, "--output", folder], stdout=subprocess.DEVNULL, check=True)
    content = json.loads((folder / "originals.json").read_text(encoding="utf-8"))
    problems = list(problems_of_results(content, wanted_of(program)))
    problems += problems_of_document(script)
    problems += problems_of_page((folder / "originals.html").read_text(encoding="utf-8"))
    problems += problems_of_checks(script, content)
    print("\n".join(problems) or f"{len(content['cases'])} cases, and the page is whole")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
