// Shows a search tree on a canvas: zoom, pan, fold, select; keyboard and mouse.

import { colour, context, throttled } from "./dom.js";
import { listenToGestures } from "./gestures.js";
import { TreeLayout } from "./layout.js";
import { Thumbnails } from "./thumbnails.js";
import { RADIUS, drawTree } from "./tree_drawing.js";

const LARGEST = 1.3;
const SMALLEST = 0.0001;
const CLOSE = 0.8;
const MARGIN = 38;

export class TreeView {
  constructor(canvas, onSelect) {
    this.canvas = canvas;
    this.onSelect = onSelect;
    this.tree = null;
    this.layout = new TreeLayout();
    this.following = true;
    this.view = { x: 0, y: 0, across: 1, along: 1 };
    this.inSight = [];
    this.redraw = throttled(() => this.#draw());
    this.thumbnails = new Thumbnails(this.redraw);
    this.grow = throttled(() => { this.#update(this.tree.takeChanges()); this.#draw(); }, 60);
    this.#listen();
    new ResizeObserver(() => { if (this.following) this.#fit(); this.redraw(); }).observe(canvas);
  }

  get selected() {
    return this.layout.selected;
  }

  /** Shows a tree; `problem` says how its states are drawn. */
  show(tree, problem) {
    if (this.tree === tree) return;
    this.thumbnails.begin(problem);
    this.tree = tree;
    this.layout.selected = null;
    this.following = true;
    this.#update(tree.nodes.values());
    this.redraw();
  }

  /** Shows all children, or only the expanded ones. */
  showOpen(every) {
    this.layout.showOpen = every;
    if (this.tree) this.#update(this.tree.nodes.values());
    this.fit();
  }

  fit() {
    this.following = true;
    this.#fit();
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
    const changed = [this.selected, this.selected?.parent, node, node?.parent].filter(Boolean);
    const before = node && this.layout.shows(node) ? this.#place(node) : null;
    this.layout.selected = node;
    for (let one = node?.parent; one; one = one.parent) one.folded = false;
    this.#update(changed, false);
    if (before) this.#keepAt(node, before);
    if (node && (centre || !this.#sees(node))) this.#bringIntoView(node);
    this.redraw();
    this.onSelect(node);
  }

  fold(node) {
    if (!node) return;
    node.folded = !node.folded;
    this.#update([node]);
    this.redraw();
  }

  /** Lays changed nodes out anew; what one looks at stays where it is. */
  #update(changed, anchored = true) {
    const anchor = anchored && !this.following ? this.#anchor() : null;
    const before = anchor && this.#place(anchor);
    this.layout.root = this.tree.root;
    this.layout.update(changed);
    if (this.following) this.#fit();
    else if (anchor && this.layout.shows(anchor)) this.#keepAt(anchor, before);
  }

  /** The selected node, or the one in the middle of the canvas. */
  #anchor() {
    if (this.selected && this.#sees(this.selected)) return this.selected;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    return this.#nearest(width / 2, height / 2, Infinity);
  }

  /** Where a node is on the canvas. */
  #place(node) {
    const { view } = this;
    const { x, y } = this.layout.position(node);
    return [view.x + x * view.across, view.y + y * view.along];
  }

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
    if (!this.layout.root) return;
    const { view, layout: { extent } } = this;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const size = (room, length) => Math.min(LARGEST, Math.max(SMALLEST, (room - 2 * MARGIN) / Math.max(1, length)));
    view.across = size(width, extent.width);
    view.along = size(height, extent.height);
    view.x = (width - extent.width * view.across) / 2;
    view.y = (height - extent.height * view.along) / 2;
  }

  #bringIntoView(node) {
    const { view } = this;
    this.following = false;
    view.across = Math.max(view.across, CLOSE);
    view.along = Math.max(view.along, CLOSE);
    const [left, top] = this.#place(node);
    view.x += this.canvas.clientWidth / 2 - left;
    view.y += this.canvas.clientHeight / 2 - top;
  }

  #draw() {
    const { pen, width, height } = context(this.canvas);
    if (this.tree?.root) {
      this.inSight = drawTree(pen, this, width, height);
      return;
    }
    this.inSight = [];
    pen.fillStyle = colour("quiet");
    pen.font = "14px system-ui";
    pen.textAlign = "center";
    pen.fillText("Press Start, and the search tree grows here.", width / 2, height / 2);
  }

  #at(x, y) {
    const { across, along } = this.view;
    return this.#nearest(x, y, 1.5 * Math.max(8, RADIUS * Math.min(across, along)) ** 2);
  }

  /** The visible node that is nearest to a place, if its squared distance is below a limit. */
  #nearest(x, y, limit) {
    let found = null;
    let nearest = limit;
    for (const { node, left, top } of this.inSight) {
      const distance = (left - x) ** 2 + (top - y) ** 2;
      if (distance < nearest) [found, nearest] = [node, distance];
    }
    return found;
  }

  #listen() {
    listenToGestures(this.canvas, {
      drag: (right, down) => {
        this.view.x += right;
        this.view.y += down;
        this.following = false;
        this.redraw();
      },
      pinch: (factor, x, y) => this.zoom(factor, x, y),
      click: (x, y) => {
        const node = this.#at(x, y);
        if (node) this.select(node);
      },
    });
    this.canvas.addEventListener("dblclick", (event) => this.fold(this.#at(event.offsetX, event.offsetY)));
    this.canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  #key(event) {
    if (!this.tree?.root) return;
    const node = this.selected ?? this.tree.root;
    const siblings = node.parent ? node.parent.shown : [node];
    const place = siblings.indexOf(node);
    const moves = {
      ArrowLeft: () => node.parent,
      ArrowRight: () => (this.selected ? firstChild(node) : node),
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

/** The first expanded child, where there is one. */
function firstChild({ shown }) {
  return shown.find((child) => child.order !== null || child.goal) ?? shown[0];
}
