// Details of one node: its state, how it was reached, and what was proposed from it.

import { paint } from "./api.js";
import { $, fill, make, say, short } from "./dom.js";
import { KINDS, describe } from "./tree.js";

const REASONS = {
  illegal: "not a legal state",
  repeated: "the state itself, or proposed twice",
  unreached: "the policy did not reach it",
};
const SHOWN = 60;

export function showNode(problem, node, select) {
  if (!node) {
    fill($("node"), make("p", { className: "quiet" }, "Click a node of the tree to see its state, how it was "
      + "reached, its numbers, and every subgoal that was proposed there, also the rejected ones."));
    return;
  }
  const board = state(problem, node.cells, 16, describe(node));
  const facts = [
    ["reached by", describe(node)],
    ["expanded", node.order === null ? (node.goal ? "goal" : "not yet") : `as number ${node.order}`],
    ["g (nodes)", String(node.g)],
    ["l (steps)", String(node.steps)],
    ["ĥ", node.h === null ? "–" : `${short(node.h)}${node.guessed ? " (from its parent)" : ""}`],
    ["π(n | parent)", short(node.probability)],
    ["log π", short(node.logPi)],
    ["log φ (key)", node.key === null ? "–" : short(node.key, 4)],
  ];
  if (node.pending) facts.push(["rollout", "not yet; steps and key are estimates"]);
  if (node.tier) facts.push(["tier", "waits for all subgoals"]);
  fill($("node"), board,
    make("dl", {}, ...facts.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)])),
    make("div", { className: "row" },
      node.parent && make("button", { type: "button", onclick: () => select(node.parent) }, "Parent")),
    ...proposals(problem, node, select));
}

function proposals(problem, node, select) {
  if (node.order === null) return [];
  const kept = [...node.children].sort((a, b) => b.probability - a.probability);
  const known = node.offered - node.children.length;
  const heading = (text) => make("h3", {}, text);
  const rest = known > 0 ? [make("p", { className: "quiet" },
    `${known} more led to states that were known by a better way.`)] : [];
  const rejected = [...node.rejected].sort((a, b) => b[1] - a[1]);
  return [
    heading(`Children (${node.children.length})`),
    ...kept.slice(0, SHOWN).map((child) => make("button", {
      type: "button", className: `proposal ${KINDS[child.kind]}`, onclick: () => select(child),
    }, state(problem, child.cells, 6, describe(child)), bar(child.probability,
      `${describe(child)}: ${short(child.probability)}, ĥ ${short(child.h)}`))),
    ...rest,
    rejected.length ? heading(`Rejected subgoals (${rejected.length})`) : null,
    rejected.length ? make("p", { className: "quiet" }, "Shares of all proposals; π is shared by those that remain.") : null,
    ...rejected.slice(0, SHOWN).map(([label, probability, reason, cells]) => make("div", {
      className: "proposal rejected",
    }, state(problem, cells, 6, `proposed state of subgoal ${label}`), bar(probability,
      `subgoal ${label}: ${short(probability)}; ${REASONS[reason] ?? reason}`))),
  ].filter((item) => item !== null);
}

function bar(probability, text) {
  const length = make("div", { className: "bar" });
  length.style.width = `${Math.max(2, Math.min(100, probability * 100))}%`;
  return make("div", { className: "grow" }, make("div", {}, text), length);
}

function state(problem, cells, cell, label) {
  const canvas = make("canvas", { role: "img", "aria-label": label });
  const draw = () => paint(canvas, problem, cells, cell).catch((error) => say(error.message));
  // Long lists draw only what is looked at.
  new IntersectionObserver((entries, observer) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    draw();
  }).observe(canvas);
  canvas.width = problem.width * cell;
  canvas.height = problem.height * cell;
  return canvas;
}
