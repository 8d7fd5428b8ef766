// One method with its settings, and its search.

import { Problem, identify, post, search } from "./api.js";
import { count, fill, make, options, short } from "./dom.js";
import { say as sayOutcome } from "./outcomes.js";
import { SearchTree } from "./tree.js";

const EPSILON = "epsilon";
export const EPSILONS = ["", "0+", "1e-6", "1e-5", "1e-4", "1e-3", "0.01", "0.1", "0.5", "1"];

export class Lane {
  constructor(catalogue, colour, dash, changed) {
    this.catalogue = catalogue;
    this.colour = colour;
    this.dash = dash;
    this.changed = changed;
    this.tree = new SearchTree();
    this.state = "idle";
    this.result = null;
    this.used = null;
    this.detail = "";
    this.number = null;
    this.aborter = null;
    this.#build();
  }

  /** Offers the methods of a domain. */
  offer(domain) {
    const known = this.catalogue.methods;
    this.possible = domain.methods.flatMap((name) => known[name].settings);
    const entries = domain.methods.map((name) => [name, known[name].label]);
    options(this.method, [["", "best available"], ...entries], this.method.value);
    this.#methodChanged();
  }

  get settings() {
    const found = {};
    for (const input of this.fields.querySelectorAll("[data-setting]")) {
      if (input.value === "") continue;
      const { setting } = input.dataset;
      const { kind } = this.catalogue.settings[setting];
      found[setting] = kind === "bool" ? input.value === "true"
        : kind === "str" ? input.value : Number(input.value);
    }
    if (this.hasEpsilon && this.epsilon) found[EPSILON] = this.epsilon;
    return found;
  }

  get hasEpsilon() {
    return !this.epsilonField.hidden;
  }

  get epsilon() {
    return this.chosenEpsilon ?? EPSILONS[Number(this.slider.value)];
  }

  /** Method and settings for a link or from it. */
  get recipe() {
    return { method: this.method.value || null, settings: this.settings };
  }

  apply({ method, settings = {} }) {
    if (method !== undefined) {
      this.method.value = method ?? "";
      this.#setEpsilon("");
    }
    if (this.method.selectedIndex < 0) this.method.value = "";
    this.#methodChanged();
    for (const [name, value] of Object.entries(settings)) {
      const input = this.fields.querySelector(`[data-setting="${name}"]`);
      if (name === EPSILON) this.#setEpsilon(value);
      else if (input) input.value = String(value);
    }
  }

  get label() {
    const name = this.used?.method ?? this.method.value;
    return this.catalogue.methods[name]?.label ?? "best available";
  }

  get active() {
    return ["starting", "queued", "running", "paused"].includes(this.state);
  }

  /** Runs a search of a problem to its end. */
  async run(problem, limits, { paused = false, pace = null } = {}) {
    this.forget();
    this.state = "starting";
    this.aborter = new AbortController();
    const { signal } = this.aborter;
    this.changed(this);
    try {
      const body = { ...identify(problem), ...this.recipe, ...limits, paused, pace };
      await search(body, (name, content) => signal.aborted || this.#hear(name, content), signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#fail(error instanceof Problem ? error.message : String(error));
    }
    if (!signal.aborted && this.active) this.#fail("The search ended early.");
  }

  async command(order, more = {}) {
    if (!this.number || !this.active) return;
    if (order === "resume" || order === "step") this.state = "running";
    await post(`/api/searches/${this.number}`, { do: order, ...more });
    this.changed(this);
  }

  /** Leaves the search; the server ends it. */
  leave() {
    this.aborter?.abort();
    this.aborter = null;
    if (this.active) this.state = "idle";
  }

  /** Leaves the search and drops what it found. */
  forget() {
    this.leave();
    this.tree = new SearchTree();
    this.state = "idle";
    this.result = this.used = null;
    this.detail = "";
  }

  #hear(name, content) {
    if (name === "opened") this.number = content.id;
    else if (name === "queued") {
      this.state = "queued";
      this.detail = `${content.position} in the queue`;
    } else if (name === "started") {
      this.used = content;
      this.state = "running";
      this.detail = content.note;
    } else if (name === "rounds") {
      this.tree.add(content);
      this.state = "running";
    } else if (name === "paused") this.state = "paused";
    else if (name === "result") {
      this.result = content;
      this.state = "done";
    } else if (name === "problem") this.#fail(content.detail);
    this.changed(this);
  }

  #fail(detail) {
    this.state = "failed";
    this.detail = detail;
    this.changed(this);
  }

  describe() {
    const { tree, result } = this;
    if (this.state === "failed") return this.detail;
    if (result) {
      const found = result.length === null ? sayOutcome(result.outcome) : `a plan of ${count(result.length, "step")}`;
      return `${this.label}: ${found}; ${count(result.expansions, "expansion")}, ${short(result.seconds)} s`;
    }
    if (this.state === "queued") return this.detail;
    if (this.state === "idle") return "";
    if (!this.used) return "loading the method (the first search of a domain takes a few seconds) …";
    const waits = this.used.rounds ? this.state : "running (this method has no rounds to watch)";
    const best = Number.isFinite(tree.bestH) ? `, best ĥ ${short(tree.bestH)}` : "";
    return `${waits}: ${count(tree.expansions, "expansion")}, ${tree.open} open${best}`;
  }

  showFacts(selected) {
    this.facts.textContent = this.describe();
    this.#showEpsilon();
    this.element.classList.toggle("chosen", selected);
    this.watch.setAttribute("aria-pressed", String(selected));
  }

  #build() {
    this.method = make("select", { onchange: () => this.#methodChanged() });
    this.slider = make("input", {
      type: "range", min: 0, max: EPSILONS.length - 1, step: 1, value: 0, "aria-label": "ε",
      oninput: () => { this.chosenEpsilon = undefined; this.#showEpsilon(); },
      onchange: () => this.epsilonChanged?.(this),
    });
    this.shownEpsilon = make("output", {});
    this.epsilonField = make("label", { className: "epsilon" }, "ε", this.slider, this.shownEpsilon);
    this.meaning = make("span", { className: "meaning" });
    this.fields = make("div", { className: "row" });
    this.facts = make("span", { className: "facts" });
    this.watch = make("button", { type: "button" }, "Show tree");
    this.remove = make("button", { type: "button", "aria-label": "Remove this method" }, "×");
    this.element = make("div", { className: "lane" },
      make("div", { className: "row" }, make("label", {}, "Method ", this.method),
        this.epsilonField, this.watch, this.remove),
      this.meaning,
      make("details", {}, make("summary", {}, "Search settings"), this.fields),
      this.facts);
    this.element.style.setProperty("--lane", this.colour);
    this.#showEpsilon();
  }

  #setEpsilon(value) {
    const text = value === 0 ? "0+" : String(value);
    const place = EPSILONS.findIndex((one) => one === text || (one && Number(one) === Number(text)));
    this.slider.value = Math.max(0, place);
    this.chosenEpsilon = place < 0 ? text : undefined;
    this.#showEpsilon();
  }

  #showEpsilon() {
    const own = this.used?.settings[EPSILON];
    const text = this.epsilon || (own === undefined ? "model's" : `model's ${own || "0+"}`);
    if (this.shownEpsilon.value !== text) {
      this.shownEpsilon.value = text;
      this.slider.setAttribute("aria-valuetext", text);
    }
    const said = this.hasEpsilon ? explain(this.epsilon) : "";
    const meaning = [this.about, said].filter(Boolean).join(". ");
    if (this.meaning.textContent !== meaning) this.meaning.textContent = meaning;
  }

  #methodChanged() {
    const known = this.catalogue.methods[this.method.value];
    const names = known ? known.settings : this.possible ?? [];
    this.epsilonField.hidden = !names.includes(EPSILON);
    this.about = known ? capital(known.about) : "The best method that the installed model allows";
    fill(this.fields, ...(known ? names : []).filter((name) => name !== EPSILON)
      .map((name) => this.#field(name)));
    this.#showEpsilon();
  }

  #field(name) {
    const { kind, help, choices, low, high } = this.catalogue.settings[name];
    const data = { "data-setting": name, title: help };
    const input = choices || kind === "bool" ? make("select", data)
      : make("input", { ...data, type: "number", className: "short", step: kind === "int" ? 1 : "any",
        placeholder: "default", ...(low === null ? {} : { min: low }), ...(high === null ? {} : { max: high }) });
    if (input.tagName === "SELECT") {
      options(input, [["", "default"], ...(choices ?? ["true", "false"]).map((one) => [one, one])]);
    }
    return make("label", { title: help }, name.replaceAll("_", " "), input);
  }
}

/** What a value of ε means for the search. */
function explain(epsilon) {
  if (!epsilon) return "";
  if (epsilon === "0+") return "Actions wait until no subgoal is left.";
  if (Number(epsilon) === 1) return "Only single actions, no subgoals.";
  return `Single actions share ${Number((100 * epsilon).toPrecision(2))} % of the probability at every node.`;
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
