// The finished searches of a problem: what each cost.

import { $, make, short, table } from "./dom.js";
import { say as sayOutcome } from "./outcomes.js";

const HEAD = ["method", "ε", "outcome", "length", "expansions", "subgoal / action", "rows", "seconds"];

export function showRuns(runs) {
  $("runs-none").hidden = runs.length > 0;
  $("runs-box").hidden = !runs.length;
  table($("runs"), HEAD, runs.map((run) => make("tr", {}, ...[
    run.label, epsilon(run.settings.epsilon), sayOutcome(run.outcome), String(run.length ?? "–"),
    String(run.expansions), shares(run), String(run.network_rows), short(run.seconds),
  ].map((content) => make("td", {}, content)))));
}

const epsilon = (value) => (value === undefined ? "–" : value === 0 ? "0+" : short(value));

/** How many nodes were reached by subgoals and how many by actions, as a bar. */
function shares({ subgoal_expansions: subgoals, action_expansions: actions }) {
  const bar = make("span", { className: "bar-of-two", "aria-hidden": "true" });
  for (const part of [subgoals, actions]) {
    const piece = make("i", {});
    piece.style.width = `${(100 * part) / Math.max(1, subgoals + actions)}%`;
    bar.append(piece);
  }
  return make("span", { className: "shares" }, `${subgoals} / ${actions}`, bar);
}
