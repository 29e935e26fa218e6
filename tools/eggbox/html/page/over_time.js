// SPDX-License-Identifier: MIT
// Memory over time: a chart with a cursor. A drag zooms in, Escape or a double click zooms out.
const seriesOfTime = [
  ["resident", "bytes_resident"],
  ["held", "bytes_held"],
  ["in use", "bytes_in_use"],
];

function svgElement(kind, attributes) {
  const out = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(attributes)) {
    out.setAttribute(name, value);
  }
  return out;
}

// The place of the sample that is nearest to a moment. The moments never fall.
function nearestSample(moments, moment) {
  let at = moments.findIndex((each) => each >= moment);
  at = at < 0 ? moments.length - 1 : at;
  return at > 0 && moment - moments[at - 1] < moments[at] - moment ? at - 1 : at;
}

function sampleText(of, at) {
  const largest = of.pools.map((pool) => [pool.bytes_in_use[at], pool.name])
    .filter(([bytes]) => bytes > 0).sort((a, b) => b[0] - a[0]).slice(0, 3)
    .map(([bytes, name]) => `${name} ${bytesText(bytes)}`);
  return `${secondsText(of.at_s[at])}: ${bytesText(of.bytes_in_use[at])} in use, ` +
    `${bytesText(of.bytes_held[at])} held, ${bytesText(of.bytes_resident[at])} resident, ` +
    plural(of.processes[at], "process", "processes") +
    (largest.length ? `; most in ${largest.join(", ")}` : "");
}

const roomAbove = 1.2;  // for the text of the highest value

class TimeChart {
  constructor(of, title) {
    this.of = of;
    this.end = of.at_s[of.at_s.length - 1];
    this.most = Math.max(1, ...of.bytes_resident, ...of.bytes_held, ...of.bytes_in_use);
    this.box = element("div", "", "over-time");
    this.svg = svgElement("svg", {viewBox: "0 0 1 1", preserveAspectRatio: "none"});
    this.plot = element("div", "", "plot");
    this.cursor = element("span", "", "cursor");
    this.mark = element("span", "", "selected");
    this.ticks = element("div", "", "ticks");
    this.detail = element("p", "", "detail");
    this.detail.setAttribute("aria-live", "polite");
    this.plot.tabIndex = 0;
    this.plot.setAttribute("role", "group");
    this.plot.setAttribute("aria-label", title);
    this.plot.append(this.svg, this.mark, this.cursor, element("span", bytesText(this.most), "top"));
    this.box.append(this.legend(title), this.plot, this.ticks, this.detail);
    this.listen();
    this.zoom(0, this.end);
  }

  legend(title) {
    const out = element("div", "", "legend");
    out.append(element("span", title, "title"));
    for (const [name, member] of seriesOfTime) {
      out.append(element("span", name, `key ${member}`));
    }
    return out;
  }

  zoom(from, to) {
    [this.from, this.to] = to - from < this.end / 1000 ? [0, this.end || 1] : [from, to];
    this.svg.replaceChildren(...seriesOfTime.map(([, member]) => svgElement("polyline", {
      class: member,
      points: this.of.at_s.map((at, i) =>
        `${this.shareOf(at)},${1 - this.of[member][i] / (this.most * roomAbove)}`).join(" "),
    })));
    this.ticks.replaceChildren(...[0, 0.5, 1].map((share) => {
      const moment = this.momentAt(share);
      return element("span", moment === 0 ? "0" : secondsText(moment));
    }));
    this.show(this.of.bytes_in_use.indexOf(Math.max(...this.of.bytes_in_use)));
  }

  shareOf(moment) {
    return (moment - this.from) / (this.to - this.from);
  }

  momentAt(share) {
    return this.from + share * (this.to - this.from);
  }

  show(at) {
    this.at = Math.min(Math.max(at, 0), this.of.at_s.length - 1);
    const share = this.shareOf(this.of.at_s[this.at]);
    this.cursor.hidden = share < 0 || share > 1;
    this.cursor.style.left = `${share * 100}%`;
    this.detail.textContent = sampleText(this.of, this.at);
  }

  shareOfEvent(event) {
    const place = this.plot.getBoundingClientRect();
    return Math.min(Math.max((event.clientX - place.left) / place.width, 0), 1);
  }

  drag(share) {
    const [from, to] = [Math.min(this.begin, share), Math.max(this.begin, share)];
    this.mark.style.left = `${from * 100}%`;
    this.mark.style.width = `${(to - from) * 100}%`;
    return [from, to];
  }

  listen() {
    this.plot.addEventListener("pointerdown", (event) => {
      this.begin = this.shareOfEvent(event);
      this.plot.setPointerCapture(event.pointerId);
    });
    this.plot.addEventListener("pointermove", (event) => {
      const share = this.shareOfEvent(event);
      this.show(nearestSample(this.of.at_s, this.momentAt(share)));
      if (this.begin !== undefined) {
        this.drag(share);
      }
    });
    this.plot.addEventListener("pointerup", (event) => {
      const [from, to] = this.drag(this.shareOfEvent(event));
      this.begin = undefined;
      this.mark.style.width = "0";
      if (to - from > 0.01) {
        this.zoom(this.momentAt(from), this.momentAt(to));
      }
    });
    this.plot.addEventListener("dblclick", () => this.zoom(0, this.end));
    this.plot.addEventListener("keydown", (event) => {
      const step = {ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity}[event.key];
      if (step !== undefined) {
        this.show(this.at + step);
        event.preventDefault();
      } else if (event.key === "Escape") {
        this.zoom(0, this.end);
      }
    });
  }
}

function fillOverTime() {
  const runs = data.over_time;
  byId("memory").hidden = runs.length === 0 && data.over_time_left_out === "";
  byId("over-time-note").textContent = data.over_time_left_out;
  for (const each of runs) {
    const title = data.totals.runs > 1 ? `Run ${each.run}` : "All processes together";
    byId("over-time").append(new TimeChart(each, title).box);
  }
}
