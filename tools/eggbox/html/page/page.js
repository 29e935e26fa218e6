// SPDX-License-Identifier: MIT
// Fills the page from its data. Texts of the data only ever become text.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

// ---- texts --------------------------------------------------------------------------------------

// Beyond 2^53 a number of JavaScript is not exact.
function countText(value) {
  return value === undefined || value === null ? ""
    : value > Number.MAX_SAFE_INTEGER ? value.toPrecision(3) : value.toLocaleString("en");
}

function bytesText(value) {
  if (value === undefined || value === null) {
    return "";
  }
  let at = 0;
  let shown = value;
  while (shown >= 1024 && at < 6) {
    shown /= 1024;
    at++;
  }
  const unit = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][at];
  return `${at === 0 ? shown : shown.toPrecision(shown < 1000 ? 3 : 4)} ${unit}`;
}

function secondsText(value) {
  return value === undefined || value === null ? ""
    : value >= 100 ? `${countText(Math.round(value))} s`
    : value >= 1 ? `${value.toPrecision(3)} s`
    : value >= 1e-3 ? `${(value * 1e3).toPrecision(3)} ms`
    : `${Math.round(value * 1e6)} \u00b5s`;
}

function percentText(share) {
  const percent = share * 100;
  return percent > 0 && percent < 0.1 ? "< 0.1 %"
    : percent < 100 && percent >= 99.95 ? "> 99.9 %" : `${percent.toFixed(1)} %`;
}

const plural = (count, one, many) => `${countText(count)} ${count === 1 ? one : many}`;

function element(kind, text = "", className = "") {
  const out = document.createElement(kind);
  out.textContent = text;
  if (className) {
    out.className = className;
  }
  return out;
}

// ---- the answer ---------------------------------------------------------------------------------

function fillNext(text) {
  const [lead, command] = text.startsWith("Next: ") ? ["Next: ", text.slice(6)] : [text, ""];
  byId("next").hidden = text === "";
  byId("next").append(lead);
  if (command) {
    byId("next").append(element("code", command));
  }
}

function tile(name, value, isBad = false) {
  const out = element("div", "", isBad ? "bad" : "");
  out.append(element("dt", name), element("dd", value));
  return out;
}

function fillTiles(sums) {
  if (sums.processes === 0) {
    return;
  }
  const tiles = [
    tile("requests", countText(sums.requests)),
    tile("from pools", sums.requests ? percentText(sums.from_pools / sums.requests) : "-"),
    tile("processes", countText(sums.processes)),
  ];
  if (sums.peak_resident_bytes > 0) {
    tiles.push(tile(sums.is_resident_least ? "peak resident, at least" : "peak resident",
                    bytesText(sums.peak_resident_bytes)));
  }
  if (sums.to_own_pools > 0) {
    tiles.push(tile("requests to own pools", countText(sums.to_own_pools)));
  }
  if (sums.leaked_bytes !== undefined) {
    tiles.push(tile("leaked", bytesText(sums.leaked_bytes), sums.leaked_bytes > 0));
  }
  if (sums.misuse > 0) {
    tiles.push(tile("misuse", countText(sums.misuse), true));
  }
  byId("tiles").append(...tiles);
}

function fillAnswer() {
  document.title = `${data.command || "eggbox"}: report`;
  byId("command").textContent = data.command;
  byId("headline").textContent = data.answer.headline;
  for (const line of data.answer.lines) {
    byId("lines").append(element("p", line, line.startsWith("MISUSE") ? "misuse" : ""));
  }
  fillNext(data.answer.next);
  fillTiles(data.totals);
}

function fillFindings() {
  const lines = [...data.misuse, ...data.leaks, ...data.allocated];
  byId("findings").hidden = lines.length === 0;
  for (const line of lines) {
    const isHead = !line.startsWith(" ") && line.endsWith(":");
    const isFault = !/^(IN USE|ALLOCATED)/.test(line);
    byId("findings-list").append(
      element("li", line.trim(), !isHead ? "" : isFault ? "head fault" : "head"));
  }
}

// ---- stacks -------------------------------------------------------------------------------------

const subjects = {
  leaked: ["Leaked", "Leaked blocks, by the calls that allocated them."],
  in_use: ["In use", "Blocks in use when a signal ended the program, by the calls that allocated " +
    "them."],
  allocated: ["Allocated", "All blocks of the run, by the calls that allocated them."],
  peak: ["Peak", "Bytes at the peak of each size class and pool, by program. The peaks are of " +
    "different moments, so their sum may never have been in use."],
  requests: ["Requests", "Requests to each size class and pool, by program."],
};

function describeFrame(unit) {
  return (node, root) => {
    const share = root.weight ? `, ${percentText(node.weight / root.weight)}` : "";
    const size = unit === "bytes"
      ? `${bytesText(node.weight)} in ${plural(node.count, "block", "blocks")}`
      : plural(node.weight, "request", "requests");
    return `${node.name}${node.place ? ` (${node.place})` : ""}: ${size}${share}`;
  };
}

let graph = null;

function showSubject(name) {
  const subject = data.stacks[name];
  for (const button of byId("subjects").children) {
    button.setAttribute("aria-pressed", String(button.dataset.subject === name));
  }
  const isEmpty = subject.missing !== undefined || subject.samples.length === 0;
  const folded = subject.folded > 0
    ? ` The ${plural(subject.folded, "smallest stack is", "smallest stacks are")} one box.` : "";
  const estimate = subject.estimate ? ` The numbers are estimates: ${subject.estimate}.` : "";
  byId("stacks-note").textContent = subject.missing !== undefined
    ? `There is nothing to show: ${subject.missing}.`
    : subject.samples.length === 0 ? "Every block was freed."
    : subjects[name][1] + estimate + folded;
  byId("flame").hidden = byId("detail").hidden = isEmpty;
  graph = isEmpty ? null : flameGraph(byId("flame"), subject, describeFrame(subject.unit),
    (text) => { byId("detail").textContent = text; });
  byId("detail").textContent = "Click a box, or press Enter on it, to zoom in. " +
    "Arrow keys move, Escape zooms out.";
}

function fillStacks() {
  byId("stacks").hidden = data.totals.processes === 0;
  const hasAny = (name) => (data.stacks[name].samples ?? []).length > 0;
  const shown = Object.keys(subjects).filter((name) => name !== "in_use" || hasAny(name));
  for (const name of shown) {
    const button = element("button", subjects[name][0]);
    button.type = "button";
    button.dataset.subject = name;
    button.addEventListener("click", () => showSubject(name));
    byId("subjects").append(button);
  }
  showSubject(shown.find(hasAny) ?? "leaked");
  let width = byId("flame").clientWidth;
  new ResizeObserver(() => {
    if (byId("flame").clientWidth !== width) {
      width = byId("flame").clientWidth;
      graph?.draw();
    }
  }).observe(byId("flame"));
}

// ---- tables -------------------------------------------------------------------------------------

// A column: its title; the value to sort by; the text of a value; a kind: "name", "text" or none.
const column = (title, value, text, kind = "") => ({title, value, text, kind});

// Nothing, then numbers, then texts.
function compare(a, b) {
  const [first, second] = [a, b].map((each) => typeof each === "string");
  return first && second ? a.localeCompare(b)
    : first !== second ? first - second : (a ?? -1) - (b ?? -1);
}

// Both are shares of the whole.
function bar(start, length) {
  const out = element("span", "", "track");
  const inner = element("span");
  inner.style.left = `${start * 100}%`;
  inner.style.width = `${length * 100}%`;
  out.append(inner);
  return out;
}

function bodyRow(row, columns) {
  const out = element("tr");
  columns.forEach((each, at) => {
    const cell = element(at === 0 ? "th" : "td", each.text(each.value(row), row),
      each.kind ? `${each.kind} text` : "");
    if (at === 0) {
      cell.scope = "row";
      cell.title = cell.textContent; // a narrow window cuts it
    }
    if (each.hasBar) {
      cell.append(bar(0, each.value(row)));
    }
    out.append(cell);
  });
  return out;
}

function sortableTable(table, search, columns, rows) {
  const body = element("tbody");
  const heads = columns.map((each) => element("th", "", each.kind ? "text" : ""));
  let sorted = 0;
  let isDown = true;

  function draw() {
    const wanted = search.value.trim().toLowerCase();
    const found = rows.filter((row) => columns.some((each) =>
      String(each.text(each.value(row), row)).toLowerCase().includes(wanted)));
    const value = columns[sorted].value;
    found.sort((a, b) => compare(value(a), value(b)) * (isDown ? -1 : 1));
    body.replaceChildren(...found.map((row) => bodyRow(row, columns)));
    heads.forEach((head, at) => head.setAttribute("aria-sort",
      at !== sorted ? "none" : isDown ? "descending" : "ascending"));
  }

  heads.forEach((head, at) => {
    head.scope = "col";
    const button = element("button", columns[at].title);
    button.type = "button";
    button.addEventListener("click", () => {
      isDown = at === sorted ? !isDown : columns[at].kind === "";
      sorted = at;
      draw();
    });
    head.append(button);
  });
  const head = element("thead");
  const line = element("tr");
  line.append(...heads);
  head.append(line);
  table.append(head, body);
  search.addEventListener("input", draw);
  sorted = columns.findIndex((each) => each.title === "requests");
  draw();
}

const same = (value) => value ?? "";
const wasteOf = (row) => row.measured_bytes ? row.waste_bytes / row.measured_bytes : undefined;

function fillPools() {
  const {rows, folded, folded_requests: requests} = data.pools;
  const all = data.totals.requests + data.totals.to_own_pools;
  byId("pools").hidden = rows.length === 0;
  const shareOf = (row) => all ? Math.min(row.requests / all, 1) : 0;
  const share = {...column("share", shareOf, percentText), hasBar: true};
  sortableTable(byId("pools-table"), byId("pools-search"), [
    column("name", (row) => row.kind === "size class" ? row.block_bytes : row.name,
      (_, row) => row.name, "name"),
    column("kind", (row) => row.kind, same, "text"),
    column("requests", (row) => row.requests, countText),
    share,
    column("peak in use", (row) => row.peak, countText),
    column("bytes at peak", (row) => row.peak_bytes, bytesText),
    column("held", (row) => row.bytes_held, bytesText),
    column("waste", wasteOf, (value) => value === undefined ? "" : percentText(value)),
    column("in use at end", (row) => row.in_use_at_end, countText),
    column("refused", (row) => row.refused, countText),
  ], rows);
  byId("pools-note").textContent = folded === 0 ? ""
    : `Left out: ${countText(folded)} more with ${plural(requests, "request", "requests")}.`;
}

// ---- processes ----------------------------------------------------------------------------------

const isLost = (row) => row.ended !== "with its report";

const endOf = (row) => row.start_s + (row.duration_s ?? 0);  // of some only the start is known

function timeRow(row, longest) {
  const out = element("li");
  const name = element("span", row.program, "name");
  const start = secondsText(row.start_s);
  const times = row.duration_s === undefined ? `from ${start}`
    : `${start} to ${secondsText(endOf(row))}`;
  const track = bar(row.start_s / longest, (row.duration_s ?? 0) / longest);
  track.classList.toggle("lost", isLost(row));
  track.setAttribute("role", "img");
  track.setAttribute("aria-label", times);
  out.title = `${row.program}, process ${row.pid}: ${times}, ended ${row.ended}`;
  out.append(name, track);
  return out;
}

function timeLine(rows, title) {
  const longest = Math.max(...rows.map(endOf)) || 1;
  const box = element("div", "", "time");
  const axis = element("div", "", "axis");
  const ticks = element("span", "", "ticks");
  const list = element("ol");
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", title);
  ticks.append(...[0, 0.5, 1].map((share) =>
    element("span", share === 0 ? "0" : secondsText(longest * share))));
  axis.append(element("span", rows.some(isLost) ? `${title} (red: no report)` : title), ticks);
  list.append(...[...rows].sort((a, b) => a.start_s - b.start_s)
    .map((row) => timeRow(row, longest)));
  box.append(axis, list);
  return box;
}

function fillTimeLines(rows) {
  const runs = new Map();
  for (const row of rows.filter((each) => each.start_s !== undefined)) {
    runs.set(row.run, [...(runs.get(row.run) ?? []), row]);
  }
  for (const [run, timed] of [...runs].sort((a, b) => a[0] - b[0])) {
    byId("time").append(timeLine(timed, data.totals.runs > 1 ? `Run ${run}` : "Time line"));
  }
}

function fillProcesses() {
  const {rows, folded, folded_requests: requests} = data.processes;
  byId("processes").hidden = rows.length === 0;
  fillTimeLines(rows);
  const columns = [
    column("program", (row) => row.program, same, "name"),
    column("pid", (row) => row.pid, (value, row) => row.processes === 1 ? String(value) : ""),
    column("ended", (row) => row.ended, same, "text"),
    column("time", (row) => row.duration_s, secondsText),
    column("requests", (row) => row.requests, countText),
    column("peak of blocks", (row) => row.peak_bytes, bytesText),
    column("resident", (row) => row.peak_resident_bytes,
           (value, row) => (row.is_resident_least ? "\u2265 " : "") + bytesText(value)),
    column("page faults", (row) => row.page_faults, countText),
  ];
  if (rows.some((row) => row.leaked_bytes !== undefined)) {
    columns.push(column("leaked", (row) => row.leaked_bytes, bytesText));
  }
  sortableTable(byId("processes-table"), byId("processes-search"), columns, rows);
  byId("processes-note").textContent = folded === 0 ? ""
    : `Left out: ${plural(folded, "more process", "more processes")} with ` +
      `${plural(requests, "request", "requests")}.`;
}

fillAnswer();
fillFindings();
fillOverTime();
fillStacks();
fillPools();
fillProcesses();
