// The tree of one search, built from rounds. Adding a round costs what is new in it.

import { count } from "./dom.js";
import { OpenHeap } from "./heap.js";
import { leaf } from "./layout.js";

const FIELDS = ["number", "kind", "label", "g", "steps", "length", "probability", "logPi", "h",
  "guessed", "key", "tier", "goal", "cells", "pending"];
export const KINDS = ["root", "subgoal", "action"];

const fresh = () => ({ parent: null, depth: 0, children: [], order: null, rejected: [], folded: false, ...leaf() });

export class SearchTree {
  constructor() {
    this.nodes = new Map();
    this.root = null;
    this.goal = null;
    this.expansions = 0;
    this.open = 0;
    this.seconds = 0;
    this.falls = []; // [expansions, h] where the best h fell
    this.bestH = Infinity;
    this.changed = new Set(); // nodes to lay out anew
    this.waiting = new OpenHeap();
  }

  add(event) {
    this.seconds = event.seconds;
    for (const round of event.rounds) this.#addRound(round);
  }

  #addRound(round) {
    this.expansions = round.order;
    this.open = round.open;
    if (this.root === null) this.#addRoot(round);
    const node = this.nodes.get(round.node);
    if (!node) return; // beyond the number of nodes that the server sends
    node.order = round.order;
    if (node !== this.root) this.#settle(node, round);
    node.offered = round.offered;
    node.rejected = round.rejected;
    const before = this.bestH;
    for (const row of round.children) this.#addChild(node, row);
    if (this.bestH < before) this.falls.push([round.order, this.bestH]);
    this.changed.add(node);
    if (node.parent) this.changed.add(node.parent);
  }

  /** An expanded node is known in full: a pending one has been rolled out. */
  #settle(node, round) {
    const parent = this.nodes.get(round.parent) ?? node.parent;
    if (parent !== node.parent) this.#attach(node, parent);
    node.h = round.h;
    node.guessed = 0;
    node.steps = round.steps;
    node.length = round.steps - parent.steps;
    node.key = round.key;
    node.pending = 0;
  }

  #addRoot(round) {
    this.root = {
      ...fresh(), number: round.node, kind: 0, label: "", g: 0, steps: 0, length: 0, probability: 1, logPi: 0,
      h: null, guessed: 0, key: null, tier: 0, goal: 0, cells: round.state, pending: 0,
    };
    this.nodes.set(round.node, this.root);
  }

  #addChild(parent, row) {
    const node = this.nodes.get(row[0]) ?? fresh();
    FIELDS.forEach((name, place) => { node[name] = row[place]; });
    this.#attach(node, parent);
    this.nodes.set(node.number, node);
    this.waiting.push(node);
    if (node.goal) this.goal ??= node;
    const h = node.goal ? 0 : node.h;
    if (h !== null && !node.guessed && h < this.bestH) this.bestH = h;
  }

  #attach(node, parent) {
    if (node.parent) {
      node.parent.children.splice(node.parent.children.indexOf(node), 1);
      this.changed.add(node.parent);
    }
    node.parent = parent;
    node.depth = parent.depth + 1;
    parent.children.push(node);
  }

  /** The nodes that have changed since the last call. */
  takeChanges() {
    const { changed } = this;
    this.changed = new Set();
    return changed;
  }

  /** The best h by expansions, as corners of a staircase. */
  get best() {
    return this.falls.length ? [...this.falls, [this.expansions, this.bestH]] : [];
  }

  /** Nodes on the path of the plan, start first. */
  path() {
    const found = [];
    for (let one = this.goal; one; one = one.parent) found.push(one);
    return found.reverse();
  }
}

export function describe(node) {
  if (node.kind === 0) return "start";
  const name = KINDS[node.kind];
  if (node.kind !== 1) return `${name} ${node.label}`;
  return `${name} ${node.label}, ${node.pending ? "about " : ""}${count(node.length, "step")}`;
}
