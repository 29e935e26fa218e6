# SPDX-License-Identifier: MIT
"""Sections of tables and plots as text, as Markdown, and as one page of HTML that needs no other
file: no script, no font, no picture from elsewhere."""

import html as escaped
import math
import re

CAVEATS = (
    "These are the authors' benchmarks, not ours: short loops in one thread. They say little about "
    "a program; the pages on benchmarks say more.",
    "The documents' figures are from their machines, a decade ago and more. They stand beside "
    "today's figures; neither is ever divided by the other.",
    "glibc gives the top of its heap back to the system between phases, and faults it in again. "
    "'no trim' is the same glibc, told not to: the fair one to compare with when warm.",
    "Cold is the first pass of a new process. The system's page faults are most of its time, for "
    "everybody, and our library makes the things there are once in a process.",
    "Three documents never touch the blocks they allocate. That flatters an allocator with its "
    "data outside of the blocks: eggbox's pools for any thread are such, malloc has a header "
    "before each block, and the originals had a link in each free one. A second table therefore "
    "has every block touched.",
    "Times are CPU time of the thread, less the clock's own time; cycles are the processor's "
    "counter, its own included, as elr_mpl's authors counted. 'spread' is the distance between "
    "the ends of the middle half of the samples: above a tenth, trust the order of two figures, "
    "not their ratio.",
    "malloc takes any size from any thread. Allocator's pool, fb_allocator and Pool_c have a lock "
    "here, as have ours in their place; egb_fixed has none, and one owner.",
    "The documents ran one allocator after the other in one process; here each has its own.",
)

COLOURS = ("#0b5fa5", "#c2410c", "#15803d", "#7e22ce", "#a16207", "#475569")

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #111; background: #fff; margin: 0 auto;
  max-width: 60rem; padding: 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.3rem; margin-top: 2.5rem; } h3 { font-size: 1.05rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #ddd; text-align: right;
  vertical-align: top; }
th:first-child, td:first-child, .words th, .words td { text-align: left; }
.words td { min-width: 6rem; } tr.theirs td { background: #f1f1ee; }
caption { text-align: left; font-weight: 600; padding: .6rem 0 .2rem; white-space: nowrap; }
svg { width: 100%; height: auto; max-width: 36rem; display: block; margin: 1rem 0; }
code { background: #f1f1ee; padding: 0 .2em; overflow-wrap: anywhere; }
"""


def quote(value):
    return escaped.escape(str(value), quote=True)


# ---- text and Markdown -------------------------------------------------------------------------


def text_table(one):
    rows = [one["head"], *one["rows"]]
    widths = [max(len(row[i]) for row in rows) for i in range(len(one["head"]))]
    lines = [one["title"]]
    for row in rows:
        cells = [value.ljust(width) if i == 0 else value.rjust(width)
                 for i, (value, width) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return [*lines, ""]


def text(sections):
    lines = []
    for section in sections:
        lines += [f"==== {section['title']}", *section["text"], ""]
        for one in section["tables"]:
            lines += text_table(one)
    return lines


def wrapped(words, columns=120):
    lines, line = [], ""
    for word in words.split():
        if line and len(line) + 1 + len(word) > columns:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return [*lines, line]


def markdown_table(one):
    aligned = ["---", *["--:"] * (len(one["head"]) - 1)]
    rows = [one["head"], aligned, *one["rows"]]
    return [f"{one['title']}:", "", *("| " + " | ".join(row) + " |" for row in rows), ""]


def markdown(content, sections):
    lines = [*wrapped(machine_of(content)), ""]
    for section in sections:
        lines += [f"### {section['title']}", ""]
        for paragraph in section["text"]:
            lines += [*wrapped(paragraph), ""]
        for one in section["tables"]:
            lines += markdown_table(one)
    return lines


def machine_of(content):
    machine = content["machine"]
    virtual = "virtual " if machine["virtual"] else ""
    family = f" (family {machine['cpu_family']})" if machine["cpu_family"] else ""
    return (f"{content['date'][:10]}, {machine['cpu']}{family}, {machine['cpus']} {virtual}CPUs, "
            f"{', '.join(machine['caches'])}; Linux {machine['kernel']}; {content['compiler']}, "
            f"`{content['flags']}`; glibc {content['libc6']}; "
            f"{content['rounds']} processes for each figure; commit `{content['commit'][:10]}`.")


# ---- plots -------------------------------------------------------------------------------------


def ticks_of(least, most):
    """Powers of ten around all values: the first and the last exponent, and all the powers."""
    low, high = math.floor(math.log10(least)), math.ceil(math.log10(most))
    high = max(high, low + 1)
    return low, high, [10.0 ** i for i in range(low, high + 1)]


def dots_of(one, series, at, row_y):
    """A dot for each value; dots of one row a little below each other, so that none is hidden."""
    for i, (name, values) in enumerate(one["rows"]):
        for key, value in values.items():
            if value > 0:
                which = series.index(key)
                y = row_y(i) + 4 * (which - (len(series) - 1) / 2)
                yield (f'<circle cx="{at(value):.1f}" cy="{y:g}" r="4" '
                       f'fill="{COLOURS[which % len(COLOURS)]}"><title>{quote(name)}, '
                       f"{quote(key)}: {value:.4g}</title></circle>")


def svg(one):
    """Dots on a logarithmic axis, a line for each row, a colour for each series. It is narrow, so
    that its letters are not too small on a phone."""
    series = list(dict.fromkeys(name for _, values in one["rows"] for name in values))
    found = [value for _, values in one["rows"] for value in values.values() if value > 0]
    low, high, ticks = ticks_of(min(found), max(found))
    left, right, top, step = 162, 412, 44 + 18 * len(series), 12 + 4 * len(series)
    bottom = top + step * len(one["rows"])

    def at(value):
        return left + (math.log10(value) - low) / (high - low) * (right - left)

    def row_y(i):
        return top + step * i + step // 2

    label = f"{one['title']}: {one['unit']}, logarithmic"
    out = [f'<svg viewBox="0 0 440 {bottom + 30}" role="img" aria-label="{quote(label)}" '
           'font-family="system-ui, sans-serif" font-size="13" fill="#111">',
           f'<text x="0" y="15" font-weight="600">{quote(one["title"])}</text>',
           f'<text x="0" y="35">{quote(one["unit"])}, logarithmic</text>']
    for i, name in enumerate(series):
        colour = COLOURS[i % len(COLOURS)]
        out.append(f'<circle cx="{left + 20}" cy="{30 + 18 * i}" r="5" fill="{colour}"/>')
        out.append(f'<text x="{left + 32}" y="{35 + 18 * i}">{quote(name)}</text>')
    for tick in ticks:
        x, digits = f"{at(tick):.1f}", max(0, -round(math.log10(tick)))
        out.append(f'<line x1="{x}" y1="{top}" x2="{x}" y2="{bottom}" stroke="#ccc"/>')
        out.append(f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">'
                   f"{tick:,.{digits}f}</text>")
    for i, (name, _) in enumerate(one["rows"]):
        out.append(f'<line x1="{left}" y1="{row_y(i)}" x2="{right}" y2="{row_y(i)}" '
                   'stroke="#ddd"/>')
        out.append(f'<text x="{left - 6}" y="{row_y(i) + 4}" text-anchor="end" '
                   f'font-size="12">{quote(name)}</text>')
    return "\n".join([*out, *dots_of(one, series, at, row_y), "</svg>"])


# ---- HTML --------------------------------------------------------------------------------------


def html_row(cells, tag):
    kind = ' class="theirs"' if str(cells[0]).startswith("theirs") else ""
    return f"<tr{kind}>" + "".join(f"<{tag}>{one}</{tag}>" for one in cells) + "</tr>"


def html_table(head, rows, title=""):
    kind = "" if title and "In short" not in title and "faster of" not in title else " words"
    caption = f"<caption>{quote(title)}</caption>" if title else ""
    return [f'<div class="wide{kind}"><table>{caption}', "<thead>", html_row(head, "th"),
            "</thead><tbody>", *(html_row(row, "td") for row in rows), "</tbody></table></div>"]


def inline(line):
    """Code and bold; links keep their words, and their address only if it is on another site."""
    line = quote(line)
    line = re.sub(r"`([^`]+)`", r"<code>\1</code>", line)
    line = re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", line)
    line = re.sub(r"\[([^\]]+)\]\((https?://[^)]+)\)", r'<a href="\2">\1</a>', line)
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", line)


def cells_of(line):
    return [inline(one.strip()) for one in line.strip().strip("|").split("|")]


def html_of_markdown(lines):
    """Headings, paragraphs and tables, for docs/originals.md."""
    out, paragraph, rows = [], [], []

    def flush():
        if paragraph:
            out.append(f"<p>{' '.join(paragraph)}</p>")
        if rows:
            out.extend(html_table(rows[0], rows[2:]))
        paragraph.clear()
        rows.clear()

    for line in [*lines, ""]:
        if line.startswith("|"):
            rows.append(cells_of(line))
        elif line.startswith("#"):
            flush()
            level = min(line.count("#", 0, 4), 3)
            out.append(f"<h{level}>{inline(line.lstrip('# '))}</h{level}>")
        elif line.strip():
            paragraph.append(inline(line.strip()))
        else:
            flush()
    return out


def html(content, sections, failures):
    title = "Originals against ours"
    out = ["<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8"/>',
           '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
           f"<title>{title}</title><style>{STYLE}</style></head><body>", f"<h1>{title}</h1>",
           "<p>The benchmarks of the older pool libraries, run anew from their descriptions: "
           "glibc, eggbox's headers in place of theirs, and eggbox's own calls.</p>",
           "<h2>Read this first</h2><ul>", *(f"<li>{quote(one)}</li>" for one in CAVEATS),
           "</ul>", "<h2>Measured on</h2>", f"<p>{inline(machine_of(content))}</p>"]
    if content["quick"]:
        out.append("<p><b>A quick run, with small numbers: a test, no measurement.</b></p>")
    for section in sections:
        out.append(f"<h2>{quote(section['title'])}</h2>")
        out += [f"<p>{inline(one)}</p>" for one in section["text"]]
        out += [svg(one) for one in section["plots"]]
        for one in section["tables"]:
            rows = [[quote(value) for value in row] for row in one["rows"]]
            out += html_table([quote(value) for value in one["head"]], rows, one["title"])
    return "\n".join([*out, *html_of_markdown(failures), "</body></html>", ""])
