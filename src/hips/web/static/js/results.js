// A folder of benchmark results: tables, curves, and runs to watch.

import { get, post } from "./api.js";
import { COLOURS, drawChart, swatch } from "./chart.js";
import { $, choosable, fill, make, options, say, short, table } from "./dom.js";

const PAGE = 100;

export class ResultsView {
  constructor(watch) {
    this.watch = watch;
    this.report = null;
    this.opened = false;
    this.offset = 0;
    $("experiment").addEventListener("change", () => this.#showSection());
    for (const id of ["suite", "configuration", "unsolved"]) {
      $(id).addEventListener("change", () => { this.offset = 0; this.#try(() => this.#list(id)); });
    }
    $("earlier").addEventListener("click", () => this.#turn(-PAGE));
    $("later").addEventListener("click", () => this.#turn(PAGE));
  }

  async open() {
    if (this.opened) return;
    this.opened = true;
    const failed = (error) => {
      this.opened = false; // the next visit tries again
      $("results-note").textContent = error.message;
    };
    // Tables take longer than the list of runs, which does not wait for them.
    await Promise.all([this.#openReport().catch(failed), this.#openRuns().catch(failed)]);
  }

  async #openReport() {
    $("results-note").textContent = "Making tables and curves; a large folder takes some seconds …";
    this.report = await get("/api/results");
    fill($("results-note"), ...prose(this.report.about.join(" ")));
    // Experiments of which the folder has no runs have nothing to show.
    const measured = this.report.sections.filter(({ tables }) => tables.length);
    if (!measured.length) return;
    options($("experiment"), measured.map(({ name, title }) => [name, title]));
    $("results-tables").hidden = false;
    this.#showSection();
  }

  async #openRuns() {
    await this.#list();
    $("results-runs").hidden = false;
  }

  #showSection() {
    const section = this.report.sections.find(({ name }) => name === $("experiment").value);
    const charts = section.figures.map((figure) => ({ figure, canvas: make("canvas", { role: "img",
      "aria-label": figure.title }) }));
    fill($("experiment-body"), make("p", {}, ...prose(section.about)),
      ...section.tables.map((one) => this.#table(one)),
      make("div", { className: "figures" }, ...charts.map(({ figure, canvas }) => make("figure", {},
        make("figcaption", {}, figure.title), canvas, this.#legend(figure)))),
      ...section.notes.map((note) => make("p", { className: "quiet" }, ...prose(note))));
    for (const { figure, canvas } of charts) {
      new ResizeObserver(() => drawChart(canvas, figure.curves.map((curve) => ({
        points: curve.x.map((x, place) => [x, curve.y[place]]),
        dots: curve.dots, low: curve.low, high: curve.high, steps: figure.steps,
        colour: COLOURS[curve.colour % COLOURS.length], dash: curve.colour,
      })), { xLabel: figure.x_label, yLabel: figure.y_label, logX: figure.log_x,
        categories: figure.categories, level: figure.level })).observe(canvas);
    }
  }

  #legend(figure) {
    return make("div", { className: "quiet" }, ...figure.curves.flatMap(({ colour, name }) => [
      make("span", { className: "legend-item" }, swatch(COLOURS[colour % COLOURS.length], colour), name), " ",
    ]));
  }

  #table({ title, columns, rows }) {
    const element = make("table", {});
    table(element, columns, rows.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, cell)))));
    const box = make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": title }, element);
    if (!title.includes(": ")) {
      element.prepend(make("caption", {}, title));
      return box;
    }
    return make("details", {}, make("summary", {}, title), box); // beside the main table of a suite
  }

  async #list(changed) {
    const found = await post("/api/results/runs", {
      suite: $("suite").value || null,
      configuration: (changed === "suite" ? "" : $("configuration").value) || null,
      unsolved: $("unsolved").checked,
      offset: this.offset,
    });
    const every = (names) => [["", "all"], ...names.map((name) => [name, name])];
    options($("suite"), every(found.suites), $("suite").value);
    options($("configuration"), every(found.configurations), changed === "suite" ? "" : $("configuration").value);
    const names = ["suite", "method", "seed", "index", "outcome", "length", "expansions", "seconds"];
    table($("run-list"), names, found.runs.map((run) => choosable(
      names.map((name) => (name === "seconds" ? short(run[name]) : String(run[name] ?? "–"))),
      () => this.#try(async () => this.watch(await get(`/api/results/runs/${run.number}`))),
    )));
    this.total = found.total;
    const last = Math.min(this.offset + PAGE, found.total);
    $("run-range").textContent = `${found.total ? this.offset + 1 : 0}–${last} of ${found.total}`;
    $("earlier").disabled = this.offset === 0;
    $("later").disabled = last >= found.total;
  }

  #turn(by) {
    this.offset = Math.max(0, this.offset + by);
    this.#try(() => this.#list());
  }

  #try(task) {
    say("");
    task().catch((error) => say(error.message));
  }
}

/** Text with `code` in it. */
function prose(text) {
  return text.split("`").map((part, place) => (place % 2 ? make("code", {}, part) : part));
}
