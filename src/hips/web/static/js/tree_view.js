// Draws a search tree on a canvas: zoom, pan, fold, select; keyboard and mouse.

import { colour, context, throttled } from "./dom.js";

const GAP_X = 30;
const GAP_Y = 52;
const RADIUS = 9;

export class TreeView {
  constructor(canvas, onSelect) {
    this.canvas = canvas;
    this.onSelect = onSelect;
    this.tree = null;
    this.selected = null;
    this.showOpen = false;
    this.following = true;
    this.view = { x: 0, y: 0, zoom: 1 };
    this.placed = [];
    this.redraw = throttled(() => this.#draw());
    this.relayout = throttled(() => { this.#layout(); this.#draw(); }, 60);
    this.#listen();
    new ResizeObserver(() => { if (this.following) this.#fit(); this.redraw(); }).observe(canvas);
  }

  show(tree) {
    if (this.tree !== tree) {
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
    const zoom = Math.min(4, Math.max(0.01, view.zoom * factor));
    view.x = x - ((x - view.x) * zoom) / view.zoom;
    view.y = y - ((y - view.y) * zoom) / view.zoom;
    view.zoom = zoom;
    this.following = false;
    this.redraw();
  }

  select(node, centre = false) {
    this.selected = node;
    if (node) {
      for (let one = node.parent; one; one = one.parent) one.folded = false;
      this.#layout();
      if (centre) this.#bringIntoView(node);
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

  /** Leaves get columns in order; a parent stands over the middle of its children. */
  #layout() {
    this.placed = [];
    if (!this.tree?.root) return;
    let column = 0;
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
      node.y = top.depth * GAP_Y;
      node.x = shown.length ? (shown[0].x + shown[shown.length - 1].x) / 2 : column++ * GAP_X;
      node.hidden = node.children.length - shown.length;
      this.placed.push(node);
      stack.pop();
    }
    this.extent = { width: Math.max(0, column - 1) * GAP_X, height: deepest * GAP_Y };
    if (this.following) this.#fit();
  }

  #fit() {
    if (!this.extent) return;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const margin = 30;
    const zoom = Math.min(1.2, (width - 2 * margin) / Math.max(1, this.extent.width),
      (height - 2 * margin) / Math.max(1, this.extent.height));
    this.view.zoom = Math.max(0.01, zoom);
    this.view.x = (width - this.extent.width * this.view.zoom) / 2;
    this.view.y = margin;
  }

  #bringIntoView(node) {
    const { view } = this;
    this.following = false;
    view.zoom = Math.max(view.zoom, 0.5);
    view.x = this.canvas.clientWidth / 2 - node.x * view.zoom;
    view.y = this.canvas.clientHeight / 2 - node.y * view.zoom;
  }

  #draw() {
    const { pen, width, height } = context(this.canvas);
    if (!this.placed.length) {
      pen.fillStyle = colour("quiet");
      pen.font = "14px system-ui";
      pen.textAlign = "center";
      pen.fillText("Press Start to watch the tree grow.", width / 2, height / 2);
      return;
    }
    const { x, y, zoom } = this.view;
    const path = this.tree.path();
    const ink = Object.fromEntries(["subgoal", "action", "path", "goal", "ink", "quiet", "node",
      "card", "focus"].map((name) => [name, colour(name)]));
    const at = (node) => [x + node.x * zoom, y + node.y * zoom];
    this.#drawEdges(pen, at, path, ink, width, height);
    const radius = Math.max(1.2, RADIUS * Math.min(1, zoom));
    const lettered = zoom > 0.55;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (const node of this.placed) {
      const [left, top] = at(node);
      if (left < -20 || top < -20 || left > width + 20 || top > height + 20) continue;
      pen.beginPath();
      pen.arc(left, top, node.order === null && !node.goal ? radius * 0.6 : radius, 0, 7);
      pen.fillStyle = node.goal ? ink.goal : node.order === null ? ink.card : ink.node;
      pen.fill();
      pen.lineWidth = path.has(node) ? 2.5 : 1;
      pen.strokeStyle = path.has(node) ? ink.path : ink.quiet;
      pen.stroke();
      if (lettered && node.order !== null) {
        pen.fillStyle = ink.ink;
        pen.font = `${9 * Math.min(1.3, zoom)}px system-ui`;
        pen.fillText(String(node.order), left, top + 0.5);
      }
      if (lettered && node.hidden > 0) {
        pen.fillStyle = ink.quiet;
        pen.font = "9px system-ui";
        pen.fillText(`+${node.hidden}`, left, top + radius + 7);
      }
      if (node === this.selected) {
        pen.beginPath();
        pen.arc(left, top, radius + 4, 0, 7);
        pen.lineWidth = 3;
        pen.strokeStyle = ink.focus;
        pen.stroke();
      }
    }
  }

  #drawEdges(pen, at, path, ink, width, height) {
    for (const kind of [2, 1]) {
      for (const onPath of [false, true]) {
        pen.beginPath();
        for (const node of this.placed) {
          if (node.kind !== kind || path.has(node) !== onPath) continue;
          const [left, top] = at(node);
          const [fromLeft, fromTop] = at(node.parent);
          if (Math.max(left, fromLeft) < 0 || Math.min(left, fromLeft) > width) continue;
          if (top < 0 || fromTop > height) continue;
          pen.moveTo(fromLeft, fromTop);
          pen.lineTo(left, top);
        }
        pen.setLineDash(kind === 2 ? [4, 4] : []);
        pen.lineWidth = (kind === 1 ? 2.4 : 1.4) + (onPath ? 1 : 0);
        pen.strokeStyle = onPath ? ink.path : kind === 1 ? ink.subgoal : ink.action;
        pen.globalAlpha = onPath ? 1 : 0.75;
        pen.stroke();
      }
    }
    pen.setLineDash([]);
    pen.globalAlpha = 1;
  }

  #at(event) {
    const { x, y, zoom } = this.view;
    const box = this.canvas.getBoundingClientRect();
    const [left, top] = [event.clientX - box.left, event.clientY - box.top];
    const reach = Math.max(8, RADIUS * zoom) ** 2;
    let found = null;
    let nearest = reach * 1.5;
    for (const node of this.placed) {
      const distance = (x + node.x * zoom - left) ** 2 + (y + node.y * zoom - top) ** 2;
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

  #key(event) {
    if (!this.tree?.root) return;
    const node = this.selected ?? this.tree.root;
    const siblings = node.parent ? this.visibleChildren(node.parent) : [node];
    const place = siblings.indexOf(node);
    const moves = {
      ArrowUp: () => node.parent,
      ArrowDown: () => (this.selected ? this.visibleChildren(node)[0] : node),
      ArrowLeft: () => siblings[place - 1],
      ArrowRight: () => siblings[place + 1],
      Home: () => this.tree.root,
    };
    if (moves[event.key]) {
      const next = moves[event.key]();
      if (next) this.select(next, this.view.zoom < 0.5);
    } else if (event.key === " " || event.key === "Enter") this.fold(node);
    else if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(0.8);
    else if (event.key === "0") this.fit();
    else return;
    event.preventDefault();
  }
}
