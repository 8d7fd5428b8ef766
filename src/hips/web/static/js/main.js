// The page: connects the problem, the lanes of the search, the tree and the plan.

import { get, identify, post } from "./api.js";
import { COLOURS, drawChart } from "./chart.js";
import { findContrast } from "./contrast.js";
import { $, say, short, throttled } from "./dom.js";
import { Lane } from "./lane.js";
import { showNode } from "./node_panel.js";
import { say as sayOutcome } from "./outcomes.js";
import { PlanPlayer } from "./plan.js";
import { ProblemPanel } from "./problem.js";
import { ResultsView } from "./results.js";
import { RowTable } from "./row_table.js";
import { showRuns } from "./runs_table.js";
import * as share from "./share.js";
import { TreeView } from "./tree_view.js";
import { describe } from "./tree.js";

const MOST_LANES = 3;
const FRONTIER = 50;
const SWEPT = ["0+", "1e-4", "0.01", "0.5", "1"];

class Explorer {
  constructor(catalogue) {
    this.catalogue = catalogue;
    this.lanes = [];
    this.chosen = null;
    this.searched = null;
    this.runs = [];
    this.problems = new ProblemPanel(catalogue, {
      onDomain: (domain) => this.#domainChanged(domain),
      onBoard: () => this.refresh(),
    });
    this.view = new TreeView($("tree"), (node) => showNode(this.searched, node, (one) => this.view.select(one, true)));
    this.player = new PlanPlayer();
    this.frontier = new RowTable($("frontier"), ["node", "log φ", "ĥ", "l", "π"], {
      empty: "Open nodes, the next one to expand first.",
      choose: (node) => this.view.select(node, true),
    });
    this.refresh = throttled(() => this.#show(), 60);
    this.refreshSlowly = throttled(() => this.#showSlowly(), 250);
    this.addLane();
    this.#listen();
  }

  addLane(recipe) {
    if (this.lanes.length >= MOST_LANES) return null;
    const free = [0, 1, 2].find((place) => this.lanes.every((lane) => lane.dash !== place));
    const lane = new Lane(this.catalogue, COLOURS[free], free, (one) => this.#laneChanged(one));
    this.lanes.push(lane);
    lane.watch.addEventListener("click", () => this.choose(lane));
    lane.remove.addEventListener("click", () => this.removeLane(lane));
    lane.epsilonChanged = () => { if (lane.result && this.searched) this.start([lane]); };
    if (this.problems.domain) lane.offer(this.problems.domain);
    $("lanes").append(lane.element);
    if (recipe) lane.apply(recipe);
    else if (this.lanes.length > 1) this.#suggest(lane);
    this.choose(this.chosen ?? lane);
    return lane;
  }

  removeLane(lane) {
    if (this.lanes.length === 1) return;
    lane.leave();
    lane.element.remove();
    this.lanes = this.lanes.filter((one) => one !== lane);
    if (this.chosen === lane) this.choose(this.lanes[0]);
    this.refresh();
  }

  choose(lane) {
    this.chosen = lane;
    this.view.show(lane.tree, this.searched);
    showNode(this.searched, null);
    if (lane.result && this.searched) this.player.show(this.searched, lane.result, lane.label);
    this.refresh();
    this.refreshSlowly();
  }

  /** Starts searches from the board, all at once. */
  async start(lanes = this.lanes, paused = false) {
    await this.problems.settled;
    say("");
    const { problem } = this.problems;
    if (!problem || this.problems.current.fault) {
      say("This is not a valid start; the line under the board says why.");
      return;
    }
    if (!this.searched || this.#outdated) this.runs = [];
    this.searched = problem;
    if (lanes.includes(this.chosen)) {
      this.player.clear();
      showNode(problem, null);
    }
    const pace = Number($("pace").value) || null;
    for (const lane of lanes) lane.run(problem, this.#limits(), { paused, pace });
    this.view.show(this.chosen.tree, problem);
  }

  /** Runs the chosen method with several values of ε, one after the other. */
  async sweep() {
    const lane = this.chosen;
    for (const value of SWEPT) {
      if (this.sweeping === null) return;
      lane.apply({ settings: { epsilon: value } });
      await this.start([lane]);
      await new Promise((resolve) => { this.sweeping = resolve; });
      if (lane.state === "failed") return;
    }
  }

  async open({ problem, lanes }) {
    await this.problems.open(problem.domain, problem.variant, await post("/api/check", identify(problem)));
    while (this.lanes.length > 1) this.removeLane(this.lanes[this.lanes.length - 1]);
    lanes.slice(0, MOST_LANES).forEach((recipe, place) => {
      if (place) this.addLane(recipe);
      else this.lanes[0].apply(recipe);
    });
  }

  /** A level on which subgoals alone fail, searched with and without single actions. */
  async showContrast() {
    const { domain, methods } = findContrast(this.catalogue, this.problems.domain);
    const { levels: [level] } = await post("/api/parse", { domain: domain.name, text: domain.example.text });
    await this.open({ problem: { ...level, domain: domain.name }, lanes: methods.map((method) => ({ method })) });
    await this.start();
    $("search").scrollIntoView();
  }

  /** Offers it where a domain has such a level and the methods. */
  #offerContrast(domain) {
    const contrast = findContrast(this.catalogue, domain);
    for (const place of document.querySelectorAll(".contrast")) place.hidden = !contrast;
    $("contrast-about").textContent = contrast?.domain.example.about ?? "";
  }

  /** Nothing on the page means anything in another domain. */
  #domainChanged(domain) {
    this.sweeping = null;
    this.searched = null;
    this.runs = [];
    for (const lane of this.lanes) {
      lane.forget();
      lane.offer(domain);
    }
    this.player.clear();
    this.choose(this.chosen);
    this.#offerContrast(domain);
  }

  /** Whether the board has changed since the last search. */
  get #outdated() {
    const { problem } = this.problems;
    return Boolean(this.searched && problem) && JSON.stringify(problem) !== JSON.stringify(this.searched);
  }

  #limits() {
    return {
      max_expansions: Number($("max-expansions").value) || null,
      max_seconds: Number($("max-seconds").value) || null,
    };
  }

  #suggest(lane) {
    const taken = this.lanes.map((one) => one.method.value);
    const { methods } = this.problems.domain;
    lane.apply({ method: methods.find((name, place) => place > 0 && !taken.includes(name)) ?? null });
  }

  #laneChanged(lane) {
    if (lane === this.chosen && this.view.tree !== lane.tree) this.view.show(lane.tree, this.searched);
    if (lane === this.chosen) this.view.grow();
    if (lane.state === "done" && !this.runs.includes(lane.result)) {
      lane.result.label = lane.label;
      this.runs.push(lane.result);
      if (lane === this.chosen) this.player.show(this.searched, lane.result, lane.label);
    }
    if (lane.state === "failed") say(`${lane.label}: ${lane.detail}`);
    if (!lane.active && this.sweeping) {
      const resume = this.sweeping;
      this.sweeping = undefined;
      setTimeout(resume, 0);
    }
    this.refresh();
    this.refreshSlowly();
  }

  #show() {
    for (const lane of this.lanes) {
      lane.showFacts(lane === this.chosen);
      lane.remove.hidden = this.lanes.length === 1;
      lane.watch.hidden = this.lanes.length === 1;
    }
    const active = this.lanes.filter((lane) => lane.active);
    const paused = active.length > 0 && active.every((lane) => lane.state === "paused");
    $("pause").disabled = $("stop").disabled = !active.length;
    $("pause").textContent = paused ? "Resume" : "Pause";
    $("step").disabled = $("step10").disabled = active.length > 0 && !paused;
    $("start").textContent = active.length ? "Restart" : "Start";
    $("sweep").disabled = !this.chosen.hasEpsilon;
    $("add-lane").disabled = this.lanes.length >= MOST_LANES;
    const ended = !active.length && this.chosen.result && this.lanes.length > 1;
    const progress = this.#outdated
      ? "Tree, plan and runs belong to an earlier board; Start searches from the board as it is now."
      : ended ? "All searches have ended." : "";
    if ($("progress").textContent !== progress) $("progress").textContent = progress;
  }

  #showSlowly() {
    drawChart($("chart"), this.lanes.map((lane) => ({
      points: lane.tree.best, colour: lane.colour, dash: lane.dash, steps: true,
    })), { xLabel: "expansions", yLabel: "best ĥ" });
    this.#showFrontier();
    showRuns(this.runs);
  }

  #showFrontier() {
    const { tree } = this.chosen;
    $("frontier-count").textContent = tree.open ? `(${tree.open} open)` : "";
    this.frontier.show(tree.waiting.first(FRONTIER), (node) => [describe(node), short(node.key, 4),
      short(node.h), String(node.steps), short(node.probability)]);
  }

  #command(order, more) {
    for (const lane of this.lanes) {
      lane.command(order, more).catch((error) => say(error.message));
    }
  }

  #listen() {
    const active = () => this.lanes.some((lane) => lane.active);
    $("start").addEventListener("click", () => { this.sweeping = null; this.start(); });
    $("go-on").addEventListener("click", () => $("start").click());
    $("sweep").addEventListener("click", () => { this.sweeping = undefined; this.sweep(); });
    $("pause").addEventListener("click", () => this.#command($("pause").textContent === "Pause" ? "pause" : "resume"));
    $("stop").addEventListener("click", () => { this.sweeping = null; this.#command("stop"); });
    for (const [id, rounds] of [["step", 1], ["step10", 10]]) {
      $(id).addEventListener("click", async () => {
        if (!active()) await this.start(this.lanes, true);
        this.#stepWhenOpen(rounds);
      });
    }
    $("pace").addEventListener("change", () => this.#command("pace", { pace: Number($("pace").value) || null }));
    $("add-lane").addEventListener("click", () => this.addLane());
    $("show-open").addEventListener("change", () => {
      this.view.showOpen($("show-open").checked);
    });
    $("fit").addEventListener("click", () => this.view.fit());
    $("zoom-in").addEventListener("click", () => this.view.zoom(1.3));
    $("zoom-out").addEventListener("click", () => this.view.zoom(1 / 1.3));
    $("share").addEventListener("click", () => this.#share());
    for (const button of document.querySelectorAll(".contrast button")) {
      button.disabled = false; // until now a click would have been lost
      button.addEventListener("click", () => this.showContrast().catch((error) => say(error.message)));
    }
    window.addEventListener("pagehide", () => this.lanes.forEach((lane) => lane.leave()));
    new ResizeObserver(() => this.refreshSlowly()).observe($("chart"));
  }

  /** Steps every lane as soon as it has paused. */
  #stepWhenOpen(rounds, patience = 100) {
    for (const lane of this.lanes) {
      const wait = (left) => {
        if (lane.state === "paused") lane.command("step", { rounds }).catch((error) => say(error.message));
        else if (left && lane.active) setTimeout(() => wait(left - 1), 50);
      };
      wait(patience);
    }
  }

  #share() {
    const link = share.write({ problem: this.problems.problem, lanes: this.lanes.map((lane) => lane.recipe) });
    history.replaceState(null, "", link);
    $("shared").hidden = false;
    $("link").value = link;
    $("link").select();
    navigator.clipboard?.writeText(link).catch(() => {});
  }
}

function switchView(name) {
  for (const view of ["explore", "results"]) {
    $(view).hidden = view !== name;
    $(`view-${view}`).setAttribute("aria-pressed", String(view === name));
  }
}

function chooseTheme() {
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const apply = (value) => { root.dataset.theme = value; };
  apply(localStorage.getItem("theme") ?? (dark.matches ? "dark" : "light"));
  dark.addEventListener("change", () => localStorage.getItem("theme") ?? apply(dark.matches ? "dark" : "light"));
  return () => {
    apply(root.dataset.theme === "dark" ? "light" : "dark");
    localStorage.setItem("theme", root.dataset.theme);
  };
}

async function begin() {
  const toggle = chooseTheme();
  const catalogue = await get("/api/catalogue");
  $("version").textContent = `search explorer ${catalogue.version}`;
  const explorer = new Explorer(catalogue);
  $("theme").addEventListener("click", () => {
    toggle();
    explorer.view.redraw();
    explorer.refreshSlowly();
  });
  const results = new ResultsView(async (run) => {
    switchView("explore");
    await explorer.open({ problem: run, lanes: [{ method: run.method, settings: run.settings }] });
    explorer.start();
  });
  $("view-explore").addEventListener("click", () => switchView("explore"));
  $("view-results").addEventListener("click", () => { switchView("results"); results.open(); });
  const shared = share.read();
  if (shared) await explorer.open(shared);
  else await explorer.problems.start();
  explorer.refresh();
  document.body.dataset.ready = "true";
  window.explorer = explorer;
}

begin().catch((error) => say(error.message));
