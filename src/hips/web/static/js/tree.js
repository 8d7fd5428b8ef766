// The tree of one search, built from rounds.

import { count } from "./dom.js";

const FIELDS = ["number", "kind", "label", "g", "steps", "length", "probability", "logPi", "h",
  "guessed", "key", "tier", "goal", "cells", "pending"];
export const KINDS = ["root", "subgoal", "action"];

export class SearchTree {
  constructor() {
    this.nodes = new Map();
    this.root = null;
    this.goal = null;
    this.expansions = 0;
    this.byKind = [0, 0, 0];
    this.open = 0;
    this.seconds = 0;
    this.best = [];
    this.bestH = Infinity;
    this.changes = 0;
  }

  add(event) {
    this.seconds = event.seconds;
    for (const round of event.rounds) this.#addRound(round);
    this.changes += 1;
  }

  #addRound(round) {
    this.expansions = round.order;
    this.open = round.open;
    if (this.root === null) this.#addRoot(round);
    const node = this.nodes.get(round.node);
    if (!node) return; // beyond the number of nodes that the server sends
    node.order = round.order;
    if (node !== this.root) node.h = round.h;
    node.guessed = 0;
    if (node !== this.root) this.#settle(node, round);
    node.offered = round.offered;
    node.rejected = round.rejected;
    this.byKind[node.kind] += 1;
    for (const row of round.children) this.#addChild(node, row);
    if (Number.isFinite(this.bestH)) this.best.push([round.order, this.bestH]);
  }

  /** An expanded node is known in full: a pending one has been rolled out. */
  #settle(node, round) {
    const parent = this.nodes.get(round.parent) ?? node.parent;
    if (parent !== node.parent) {
      node.parent.children.splice(node.parent.children.indexOf(node), 1);
      parent.children.push(node);
      node.parent = parent;
    }
    node.steps = round.steps;
    node.length = round.steps - parent.steps;
    node.key = round.key;
    node.pending = 0;
  }

  #addRoot(round) {
    this.root = {
      number: round.node, kind: 0, label: "", g: 0, steps: 0, length: 0, probability: 1, logPi: 0,
      h: null, guessed: 0, key: null, tier: 0, goal: 0, cells: round.state, pending: 0,
      parent: null, children: [], order: null, rejected: [], folded: false,
    };
    this.nodes.set(round.node, this.root);
  }

  #addChild(parent, row) {
    const known = this.nodes.get(row[0]);
    if (known) known.parent.children.splice(known.parent.children.indexOf(known), 1);
    const node = known ?? { children: [], order: null, rejected: [], folded: false };
    FIELDS.forEach((name, place) => { node[name] = row[place]; });
    node.parent = parent;
    parent.children.push(node);
    this.nodes.set(node.number, node);
    if (node.goal) this.goal ??= node;
    const h = node.goal ? 0 : node.h;
    if (h !== null && !node.guessed && h < this.bestH) this.bestH = h;
  }

  /** Open nodes in the order of their expansion, as far as the page knows them. */
  frontier(most) {
    const open = [];
    for (const node of this.nodes.values()) {
      if (node.order === null && !node.goal) open.push(node);
    }
    const before = (a, b) => a.tier - b.tier || (a.key ?? -Infinity) - (b.key ?? -Infinity)
      || a.number - b.number;
    return { total: this.open, nodes: open.sort(before).slice(0, most) };
  }

  /** Nodes on the path of the plan. */
  path() {
    const found = new Set();
    for (let one = this.goal; one; one = one.parent) found.add(one);
    return found;
  }
}

export function describe(node) {
  if (node.kind === 0) return "start";
  const name = KINDS[node.kind];
  if (node.kind !== 1) return `${name} ${node.label}`;
  return `${name} ${node.label}, ${node.pending ? "about " : ""}${count(node.length, "step")}`;
}
