// SPDX-License-Identifier: MIT
// A flame graph of buttons: the outermost call above, each call as wide as its share. Enter or a
// click on a call shows it and its callees alone; Escape shows all; arrow keys go to neighbours.
"use strict";

const FLAME_ROW = 24;
const FLAME_NARROW = 28; // pixels: no text fits
const FLAME_LEAST = 1.5; // pixels: not drawn, but counted by its caller

function flameTree(subject) {
  const root = {name: "all", place: "", count: 0, weight: 0, children: new Map(), parent: null};
  const add = (to, count, bytes) => {
    to.count += count;
    to.weight += subject.unit === "bytes" ? bytes : count;
  };
  for (const [calls, count, bytes] of subject.samples) {
    let at = root;
    add(at, count, bytes);
    for (const call of calls) {
      if (!at.children.has(call)) {
        const [name, place] = subject.frames[call];
        at.children.set(call,
          {name, place, count: 0, weight: 0, children: new Map(), parent: at});
      }
      at = at.children.get(call);
      add(at, count, bytes);
    }
  }
  return root;
}

function flameHue(name) {
  let hash = 0;
  for (const each of name) {
    hash = (hash * 31 + each.codePointAt(0)) % 997;
  }
  return 18 + hash % 26; // of the colours of fire
}

function flameOuter(node) {
  const out = [];
  for (let at = node.parent; at; at = at.parent) {
    out.unshift(at);
  }
  return out;
}

// [{node, depth, left, width}], left and width as shares of the whole width.
function flameBoxes(zoomed, leastShare) {
  const outer = flameOuter(zoomed);
  const out = outer.map((node, depth) => ({node, depth, left: 0, width: 1, isOuter: true}));
  const waiting = [{node: zoomed, depth: outer.length, left: 0, width: 1}];
  while (waiting.length) {
    const box = waiting.pop();
    out.push(box);
    let left = box.left;
    const inner = [...box.node.children.values()].sort((a, b) => b.weight - a.weight);
    for (const node of inner) {
      const width = zoomed.weight ? node.weight / zoomed.weight : 0;
      if (width >= leastShare) {
        waiting.push({node, depth: box.depth + 1, left, width});
      }
      left += width;
    }
  }
  return out;
}

// The node that an arrow key leads to, among those that are drawn.
function flameNeighbour(node, key, isDrawn) {
  const row = (nodes) => [...nodes].filter(isDrawn).sort((a, b) => b.weight - a.weight);
  if (key === "ArrowUp") {
    return node.parent;
  }
  if (key === "ArrowDown") {
    return row(node.children.values())[0];
  }
  const siblings = node.parent ? row(node.parent.children.values()) : [];
  return siblings[siblings.indexOf(node) + (key === "ArrowRight" ? 1 : -1)];
}

// `describe` makes the text of a node; it is also its name for a screen reader. `tell` gets that
// text for the node that is looked at.
function flameGraph(host, subject, describe, tell) {
  const root = flameTree(subject);
  let zoomed = root;
  let buttons = new Map();

  function button(box, pixels) {
    const out = document.createElement("button");
    out.type = "button";
    out.textContent = box.node.name;
    out.setAttribute("aria-label", describe(box.node, root));
    out.style.setProperty("--hue", flameHue(box.node.name));
    out.style.left = `${box.left * 100}%`;
    out.style.width = `calc(${box.width * 100}% - 1px)`;
    out.style.top = `${box.depth * FLAME_ROW}px`;
    out.classList.toggle("narrow", box.width * pixels < FLAME_NARROW);
    out.classList.toggle("outer", Boolean(box.isOuter));
    out.tabIndex = box.node === zoomed ? 0 : -1;
    const look = () => tell(describe(box.node, root));
    out.addEventListener("mouseenter", look);
    out.addEventListener("focus", look);
    out.addEventListener("click", () => zoom(box.node));
    out.addEventListener("keydown", (event) => move(event, box.node));
    return out;
  }

  function draw() {
    const pixels = host.clientWidth || 800;
    const boxes = flameBoxes(zoomed, FLAME_LEAST / pixels);
    buttons = new Map(boxes.map((box) => [box.node, button(box, pixels)]));
    const depth = boxes.reduce((most, box) => Math.max(most, box.depth), 0);
    const floor = document.createElement("div"); // gives the graph its height
    floor.style.height = `${(depth + 1) * FLAME_ROW}px`;
    host.replaceChildren(floor, ...buttons.values());
  }

  function zoom(node) {
    zoomed = node;
    draw();
    buttons.get(node).focus({preventScroll: true});
  }

  function move(event, node) {
    if (event.key === "Escape") {
      zoom(root);
    } else if (event.key.startsWith("Arrow")) {
      event.preventDefault();
      const next = flameNeighbour(node, event.key, (each) => buttons.has(each));
      buttons.get(next)?.focus();
    }
  }

  draw();
  return {draw};
}
