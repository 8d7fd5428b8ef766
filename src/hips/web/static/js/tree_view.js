// Draws a search tree on a canvas: zoom, pan, fold, select; keyboard and mouse.

import { colour, context, throttled } from "./dom.js";
import { RADIUS, drawTree } from "./tree_drawing.js";
import { Thumbnails } from "./thumbnails.js";

const GAP_DEPTH = 88;
const GAP_LEAF = 78;
const LARGEST = 1.3;
const SMALLEST = 0.001;
const CLOSE = 0.8;

export class TreeView {
  constructor(canvas, onSelect) {
    this.canvas = canvas;
    this.onSelect = onSelect;
    this.tree = null;
    this.selected = null;
    this.showOpen = false;
    this.following = true;
    this.view = { x: 0, y: 0, across: 1, along: 1 };
    this.placed = [];
    this.redraw = throttled(() => this.#draw());
    this.thumbnails = new Thumbnails(this.redraw);
    this.relayout = throttled(() => { this.#layout(); this.#draw(); }, 60);
    this.#listen();
    new ResizeObserver(() => { if (this.following) this.#fit(); this.redraw(); }).observe(canvas);
  }

  /** Shows a tree; `problem` says how its states are drawn. */
  show(tree, problem) {
    if (this.tree !== tree) {
      this.thumbnails.begin(problem);
      this.selected = null;
      this.following = true;
    }
    this.tree = tree;
    this.relayout();
  }

  fit() {
    this.following = true;
    this.#layout();
    this.redraw();
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const { view } = this;
    const { across, along } = view;
    const scaled = (size) => Math.min(4, Math.max(SMALLEST, size * factor));
    // A fitted large tree is squeezed in one direction; zooming in first makes both equal.
    view.across = factor > 1 && across > along ? across : scaled(across);
    view.along = factor > 1 && along > across ? along : scaled(along);
    view.x = x - ((x - view.x) * view.across) / across;
    view.y = y - ((y - view.y) * view.along) / along;
    this.following = false;
    this.redraw();
  }

  select(node, centre = false) {
    this.selected = node;
    if (node) {
      for (let one = node.parent; one; one = one.parent) one.folded = false;
      const before = this.placed.includes(node) ? this.#place(node) : null;
      this.#layout(false);
      if (before) this.#keepAt(node, before);
      if (centre || !this.#sees(node)) this.#bringIntoView(node);
    }
    this.redraw();
    this.onSelect(node);
  }

  fold(node) {
    if (!node) return;
    node.folded = !node.folded;
    this.relayout();
  }

  visibleChildren(node) {
    if (node.folded) return [];
    if (this.showOpen) return node.children;
    const chosen = this.selected;
    return node.children.filter((child) => child.order !== null || child.goal
      || child === chosen || chosen === node);
  }

  /** Grows from left to right: leaves get rows in order, a parent the middle of its children. */
  #layout(follow = this.following) {
    this.placed = [];
    if (!this.tree?.root) return;
    let row = 0;
    let deepest = 0;
    const stack = [{ node: this.tree.root, depth: 0, shown: null, next: 0 }];
    while (stack.length) {
      const top = stack[stack.length - 1];
      if (top.shown === null) {
        top.shown = this.visibleChildren(top.node);
        deepest = Math.max(deepest, top.depth);
      }
      if (top.next < top.shown.length) {
        stack.push({ node: top.shown[top.next], depth: top.depth + 1, shown: null, next: 0 });
        top.next += 1;
        continue;
      }
      const { node, shown } = top;
      node.x = top.depth * GAP_DEPTH;
      node.y = shown.length ? (shown[0].y + shown[shown.length - 1].y) / 2 : row++ * GAP_LEAF;
      node.hidden = node.children.length - shown.length;
      this.placed.push(node);
      stack.pop();
    }
    this.extent = { width: deepest * GAP_DEPTH, height: Math.max(0, row - 1) * GAP_LEAF };
    if (follow) this.#fit();
  }

  /** Where a node is on the canvas. */
  #place({ x, y }) {
    const { view } = this;
    return [view.x + x * view.across, view.y + y * view.along];
  }

  /** A node stays where it was, although its children have appeared. */
  #keepAt(node, [left, top]) {
    const [newLeft, newTop] = this.#place(node);
    this.view.x += left - newLeft;
    this.view.y += top - newTop;
  }

  #sees(node) {
    const [left, top] = this.#place(node);
    return left >= 0 && top >= 0 && left <= this.canvas.clientWidth && top <= this.canvas.clientHeight;
  }

  #fit() {
    if (!this.extent) return;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const margin = 38;
    const size = (room, extent) => Math.min(LARGEST, Math.max(SMALLEST, (room - 2 * margin) / Math.max(1, extent)));
    this.view.across = size(width, this.extent.width);
    this.view.along = size(height, this.extent.height);
    this.view.x = (width - this.extent.width * this.view.across) / 2;
    this.view.y = (height - this.extent.height * this.view.along) / 2;
  }

  #bringIntoView(node) {
    const { view } = this;
    this.following = false;
    view.across = Math.max(view.across, CLOSE);
    view.along = Math.max(view.along, CLOSE);
    view.x = this.canvas.clientWidth / 2 - node.x * view.across;
    view.y = this.canvas.clientHeight / 2 - node.y * view.along;
  }

  #draw() {
    const { pen, width, height } = context(this.canvas);
    if (!this.placed.length) {
      pen.fillStyle = colour("quiet");
      pen.font = "14px system-ui";
      pen.textAlign = "center";
      pen.fillText("Press Start, and the search tree grows here.", width / 2, height / 2);
      return;
    }
    drawTree(pen, this, this.thumbnails, width, height);
  }

  #at(event) {
    const { x, y, across, along } = this.view;
    const box = this.canvas.getBoundingClientRect();
    const [left, top] = [event.clientX - box.left, event.clientY - box.top];
    const reach = Math.max(8, RADIUS * Math.min(across, along)) ** 2;
    let found = null;
    let nearest = reach * 1.5;
    for (const node of this.placed) {
      const distance = (x + node.x * across - left) ** 2 + (y + node.y * along - top) ** 2;
      if (distance < nearest) [found, nearest] = [node, distance];
    }
    return found;
  }

  #listen() {
    const pointers = new Map();
    let moved = 0;
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, [event.clientX, event.clientY]);
      moved = 0;
    });
    this.canvas.addEventListener("pointermove", (event) => {
      const last = pointers.get(event.pointerId);
      if (!last) return;
      const others = [...pointers].filter(([id]) => id !== event.pointerId);
      if (others.length) {
        const [, other] = others[0];
        const before = Math.hypot(last[0] - other[0], last[1] - other[1]);
        const after = Math.hypot(event.clientX - other[0], event.clientY - other[1]);
        if (before > 0) this.zoom(after / before);
      } else {
        moved += Math.abs(event.clientX - last[0]) + Math.abs(event.clientY - last[1]);
        if (moved > 4) {
          this.view.x += event.clientX - last[0];
          this.view.y += event.clientY - last[1];
          this.following = false;
          this.redraw();
        }
      }
      pointers.set(event.pointerId, [event.clientX, event.clientY]);
    });
    const up = (event) => {
      const pressed = pointers.delete(event.pointerId);
      if (pressed && moved <= 4 && event.type === "pointerup") {
        const node = this.#at(event);
        if (node) this.select(node);
      }
    };
    this.canvas.addEventListener("pointerup", up);
    this.canvas.addEventListener("pointercancel", up);
    this.canvas.addEventListener("dblclick", (event) => this.fold(this.#at(event)));
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = this.canvas.getBoundingClientRect();
      const factor = Math.exp(-event.deltaY * 0.0015);
      this.zoom(factor, event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    this.canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  /** The first expanded child, where there is one. */
  #firstChild(node) {
    const children = this.visibleChildren(node);
    return children.find((child) => child.order !== null || child.goal) ?? children[0];
  }

  #key(event) {
    if (!this.tree?.root) return;
    const node = this.selected ?? this.tree.root;
    const siblings = node.parent ? this.visibleChildren(node.parent) : [node];
    const place = siblings.indexOf(node);
    const moves = {
      ArrowLeft: () => node.parent,
      ArrowRight: () => (this.selected ? this.#firstChild(node) : node),
      ArrowUp: () => siblings[place - 1],
      ArrowDown: () => siblings[place + 1],
      Home: () => this.tree.root,
    };
    if (moves[event.key]) {
      const next = moves[event.key]();
      if (next) this.select(next, Math.min(this.view.across, this.view.along) < 0.5);
    } else if (event.key === " " || event.key === "Enter") this.fold(node);
    else if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(0.8);
    else if (event.key === "0") this.fit();
    else return;
    event.preventDefault();
  }
}
