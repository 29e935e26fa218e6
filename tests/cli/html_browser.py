#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`eggbox report --html` in Chromium: the page has no error, loads nothing, its tables sort and
search, its flame graph zooms, and it fits into narrow and wide windows.

usage: html_browser.py EGGBOX [--pictures FOLDER FILE...]

--pictures writes the pages of these reports as PNGs, in three widths, light and dark.
Exit status 77: there is no chromium.
"""

import base64
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

EGGBOX = pathlib.Path(sys.argv[1]).resolve()
RUNS = pathlib.Path(__file__).resolve().parent / "runs"
WIDTHS = (400, 1200, 2000)
failures = []


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each}" for each in seen))


class Browser:
    """Chromium with one page, controlled by the DevTools protocol through two pipes."""

    def __init__(self, folder):
        wanted, self.to = os.pipe()
        self.at, answers = os.pipe()

        def become_3_and_4():
            high = [fcntl.fcntl(each, fcntl.F_DUPFD, 10) for each in (wanted, answers)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--disable-dev-shm-usage", "--no-first-run", f"--user-data-dir={folder}/profile"],
            preexec_fn=become_3_and_4, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(wanted)
        os.close(answers)
        self.rest, self.number, self.events, self.session = b"", 0, [], None
        target = self.tell("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.tell("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.tell(f"{domain}.enable")

    def read(self):
        while b"\0" not in self.rest:
            more = os.read(self.at, 1 << 16)
            if not more:
                raise RuntimeError("chromium ended")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def tell(self, method, **values):
        self.number += 1
        message = {"id": self.number, "method": method, "params": values}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, file, width, scheme):
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=900,
                  deviceScaleFactor=1, mobile=False)
        self.tell("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events = []
        self.tell("Page.navigate", url=file.as_uri())
        while not any(each.get("method") == "Page.loadEventFired" for each in self.events):
            self.events.append(self.read())

    def value(self, expression):
        result = self.tell("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def picture(self, file, height=None):
        values = {}
        if height:
            width = self.value("innerWidth")
            values["clip"] = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        data = self.tell("Page.captureScreenshot", captureBeyondViewport=True, **values)["data"]
        file.write_bytes(base64.b64decode(data))

    def complaints(self):
        """Errors of the script, of the console, and requests for anything but the page."""
        self.value("1")  # all events before it are read
        for event in self.events:
            method, values = event.get("method"), event.get("params", {})
            if method in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled",
                          "Log.entryAdded"):
                yield values
            if method == "Network.requestWillBeSent":
                url = values["request"]["url"]
                if not url.startswith(("file:///", "data:")):
                    yield url

    def end(self):
        self.session = None
        self.tell("Browser.close")
        self.process.wait()
        os.close(self.to)
        os.close(self.at)


def page_of(report, folder):
    page = folder / f"{report.stem}.html"
    subprocess.run([EGGBOX, "report", report, "--html", page], check=True)
    return page


# ---- the tests ----------------------------------------------------------------------------------

def cells(browser, table, column):
    return browser.value(f"[...document.querySelectorAll('#{table} tbody tr')]"
                         f".map(row => row.children[{column}].textContent)")


def click(browser, selector):
    browser.value(f"document.querySelector({selector!r}).click()")


def tables_sort_and_search(browser, page):
    browser.open(page, 1200, "light")

    def requests():
        return [int(each.replace(",", "")) for each in cells(browser, "pools-table", 2)]
    down = requests()
    check(len(down) > 5 and down == sorted(down, reverse=True), "most requests first", down)
    click(browser, "#pools-table th:nth-child(3) button")
    check(requests() == sorted(down), "the other way round", requests())
    click(browser, "#pools-table th:nth-child(1) button")
    check(browser.value("document.querySelector('#pools-table th').ariaSort") == "ascending",
          "aria-sort")
    sizes = [int(each.removesuffix(" B").replace(",", ""))
             for each in cells(browser, "pools-table", 0) if each.endswith(" B")]
    check(sizes == sorted(sizes), "sizes sort as numbers", sizes)
    name = cells(browser, "pools-table", 0)[0]
    browser.value(f"{{ const box = document.getElementById('pools-search'); box.value = {name!r};"
                  "box.dispatchEvent(new Event('input')); }")
    found = cells(browser, "pools-table", 0)
    check(found and len(found) < len(down) and name in found, "a search", found)


def the_flame_graph_zooms(browser, page):
    browser.open(page, 1200, "light")
    boxes = ("[...document.querySelectorAll('#flame button')].map(box => "
             "[box.textContent, box.getBoundingClientRect().width])")
    full = browser.value("document.getElementById('flame').clientWidth")
    before = browser.value(boxes)
    name, width = min((box for box in before if box[1] > 20), key=lambda box: box[1])
    check(width < full / 2, "no small box", before)
    click(browser, f"#flame button:nth-of-type({before.index([name, width]) + 1})")
    after = dict(browser.value(boxes))
    check(after[name] > full - 4, "a box does not zoom", name, after)
    check(browser.value("document.activeElement.textContent") == name, "the focus")
    check(name in browser.value("document.getElementById('detail').textContent"), "the detail")

    def key(name):
        browser.value("document.activeElement.dispatchEvent("
                      f"new KeyboardEvent('keydown', {{key: '{name}', bubbles: true}}))")
    key("Escape")
    check(browser.value(boxes) == before, "Escape does not zoom out")
    key("ArrowDown")
    check(browser.value("document.activeElement.textContent") != "all", "an arrow key")


def the_cursor_moves_over_time(browser, folder):
    run = json.loads((RUNS / "monday.json").read_text(encoding="utf-8"))
    bytes_ = [0, 1024, 4096, 2048, 1024]
    run["timeline"] = {"at_s": [0, 1, 2, 3, 4], "processes": [1] * 5, "bytes_in_use": bytes_,
                       "bytes_held": bytes_, "bytes_resident": [8192] * 5,
                       "pools": [{"name": "frames", "bytes_in_use": bytes_}]}
    report = folder / "over-time.json"
    report.write_text(json.dumps(run), encoding="utf-8")
    browser.open(page_of(report, folder), 1200, "light")

    def detail():
        return browser.value("document.querySelector('.over-time .detail').textContent")

    def send(kind, event, values):
        browser.value(f"document.querySelector('.over-time .plot').dispatchEvent("
                      f"new {kind}('{event}', {{bubbles: true, {values}}}))")

    def at(share):
        left, width = browser.value("(place => [place.left, place.width])(document.querySelector("
                                    "'.over-time .plot').getBoundingClientRect())")
        return f"clientX: {left + share * width}"

    def ends():
        return browser.value("[...document.querySelectorAll('.over-time .ticks span')]"
                             ".map(each => each.textContent)")
    check(detail() == "2.00 s: 4.00 KiB in use, 4.00 KiB held, 8.00 KiB resident, 1 process; "
          "most in frames 4.00 KiB", "the highest moment first", detail())
    send("KeyboardEvent", "keydown", "key: 'ArrowRight'")
    check(detail().startswith("3.00 s: 2.00 KiB in use"), "an arrow key", detail())
    send("PointerEvent", "pointermove", at(0.26))
    check(detail().startswith("1.00 s: 1.00 KiB in use"), "the pointer", detail())
    check(ends() == ["0", "2.00 s", "4.00 s"], "the axis", ends())
    browser.value("Element.prototype.setPointerCapture = () => {}")  # these pointers are not real
    send("PointerEvent", "pointerdown", at(0.25))
    send("PointerEvent", "pointerup", at(0.75))
    check(ends() == ["1.00 s", "2.00 s", "3.00 s"], "a drag zooms", ends())
    send("KeyboardEvent", "keydown", "key: 'Escape'")
    check(ends() == ["0", "2.00 s", "4.00 s"], "Escape", ends())


def processes_have_bars(browser, folder):
    run = json.loads((RUNS / "monday.json").read_text(encoding="utf-8"))
    one = {**run["processes"][0], "started_ns": 10**12, "duration_s": 4.0}
    later = {**one, "pid": 7, "started_ns": 10**12 + 3 * 10**9, "duration_s": 1.0,
             "arguments": ["late"]}
    killed = {**later, "pid": 8, "started_ns": 10**12 + 10**9, "arguments": ["killed"],
              "no_report": "a signal ended it"}
    untimed = {**one, "pid": 9, "started_ns": 0}
    run["processes"] = [later, one, untimed, killed]
    report = folder / "times.json"
    report.write_text(json.dumps(run), encoding="utf-8")
    browser.open(page_of(report, folder), 1200, "light")
    rows = browser.value("""[...document.querySelectorAll('.time li')].map(row => {
        const track = row.querySelector('.track'), bar = track.firstChild;
        const [all, part] = [track, bar].map(each => each.getBoundingClientRect());
        return [row.querySelector('.name').textContent, (part.left - all.left) / all.width,
                part.width / all.width, track.classList.contains('lost')]; })""")
    expected = [["shop orders.db", 0, 1, False], ["killed", 0.25, 0.25, True],
                ["late", 0.75, 0.25, False]]
    seen = [[name, round(start, 2), round(length, 2), is_lost]
            for name, start, length, is_lost in rows]
    check(seen == expected, "bars of processes", seen, expected)


def it_fits(browser, page):
    for width in WIDTHS:
        for scheme in ("light", "dark"):
            browser.open(page, width, scheme)
            where = f"{page.name}, {width} pixels, {scheme}"
            check(list(browser.complaints()) == [], f"errors of {where}",
                  *browser.complaints())
            wide = browser.value("document.documentElement.scrollWidth")
            check(wide <= width, f"{where}: it is {wide} pixels wide")
            check(browser.value("document.getElementById('headline').textContent") != "",
                  f"no headline: {where}")


def nothing_runs_from_names(browser, folder):
    run = json.loads((RUNS / "monday.json").read_text(encoding="utf-8"))
    evil = "</script><img src=x onerror='window.harm=1'><script>window.harm=1</script>"
    run["command"] = [evil]
    for process in run["processes"]:
        process["program"], process["arguments"] = evil, [evil]
        for pool in process["pools"]:
            if not pool["is_size_class"]:
                pool.update(name=evil, allocations=1, peak=1)
    report = folder / "hostile.json"
    report.write_text(json.dumps(run), encoding="utf-8")
    browser.open(page_of(report, folder), 1200, "light")
    check(browser.value("window.harm") is None, "a name runs as a script")
    check(browser.value("document.querySelectorAll('img, script').length") == 2,
          "a name became an element")
    check("<img" in browser.value("document.getElementById('headline').textContent"),
          "the name is not shown")


def pictures(browser, folder, reports):
    for report in reports:
        page = page_of(report, folder)
        for width in WIDTHS:
            for scheme in ("light", "dark"):
                browser.open(page, width, scheme)
                height = browser.value("document.documentElement.scrollHeight")
                browser.picture(folder / f"{report.stem}-{width}-{scheme}.png", min(height, 4000))


def main():
    if not shutil.which("chromium"):
        print("skipped: there is no chromium (Debian: chromium)")
        return 77
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        browser = Browser(folder)
        try:
            if sys.argv[2:3] == ["--pictures"]:
                pictures(browser, pathlib.Path(sys.argv[3]).resolve(),
                         [pathlib.Path(each) for each in sys.argv[4:]])
                return 0
            page = page_of(RUNS / "recorded-odd.json", folder)
            tables_sort_and_search(browser, page)
            the_flame_graph_zooms(browser, page)
            the_cursor_moves_over_time(browser, folder)
            processes_have_bars(browser, folder)
            it_fits(browser, page)
            for report in ("evil", "nothing", "silent", "found"):
                it_fits(browser, page_of(RUNS / f"{report}.json", folder))
            nothing_runs_from_names(browser, folder)
        finally:
            browser.end()
    print("\n".join(failures) or "the page works in chromium")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
