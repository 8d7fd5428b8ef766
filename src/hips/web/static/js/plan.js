// The plan of a search: animated, with its subgoals marked, and downloads.

import { blob, identify, pictures } from "./api.js";
import { $, colour, context, count, download, fill, make, say } from "./dom.js";
import { say as sayOutcome } from "./outcomes.js";

const CHUNK = 24;
const FRAME_MILLISECONDS = 140;

export class PlanPlayer {
  constructor() {
    this.problem = null;
    this.result = null;
    this.timer = null;
    this.strips = new Map();
    $("scrub").addEventListener("input", () => { this.pause(); this.#show(); });
    $("play").addEventListener("click", () => (this.timer ? this.pause() : this.play()));
    new ResizeObserver(() => this.#drawMarks()).observe($("marks"));
  }

  clear() {
    this.pause();
    this.result = null;
    $("player").hidden = true;
    $("plan-none").hidden = false;
    $("plan-none").textContent = "The plan appears here once a search has found one.";
  }

  show(problem, result, label) {
    this.clear();
    if (result.length === null) {
      $("plan-none").textContent = [`${label}: ${sayOutcome(result.outcome)}.`, result.message].join(" ");
      return;
    }
    Object.assign(this, { problem, result, strips: new Map() });
    $("plan-none").textContent = `${label}: ${count(result.length, "step")}, `
      + `${count(result.subgoal_steps.length, "subgoal")} on the way (marked below).`;
    $("player").hidden = false;
    $("scrub").max = Math.max(0, result.states.length - 1);
    $("scrub").value = 0;
    $("plan-text").textContent = result.plan.join(" ");
    this.#offerDownloads();
    this.#drawMarks();
    this.#show();
  }

  play() {
    if (!this.result) return;
    if (Number($("scrub").value) >= Number($("scrub").max)) $("scrub").value = 0;
    $("play").textContent = "Pause";
    this.timer = setInterval(() => {
      $("scrub").value = Number($("scrub").value) + 1;
      this.#show();
      if (Number($("scrub").value) >= Number($("scrub").max)) this.pause();
    }, FRAME_MILLISECONDS);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    $("play").textContent = "Play";
  }

  async #show() {
    const { result } = this;
    const step = Number($("scrub").value);
    const reached = result.subgoal_steps.indexOf(step);
    const action = step ? `${step} of ${result.length}: ${result.plan[step - 1]}` : `start, ${result.length} steps`;
    const subgoal = reached >= 0 ? ` — subgoal ${reached + 1} of ${result.subgoal_steps.length}` : "";
    $("step-label").textContent = `${action}${subgoal}`;
    if (!result.states.length) return;
    try {
      const first = Math.floor(step / CHUNK) * CHUNK;
      const strip = await this.#strip(first);
      if (this.result !== result || Number($("scrub").value) !== step) return;
      const height = strip.height / Math.min(CHUNK, result.states.length - first);
      const film = $("film");
      film.width = strip.width;
      film.height = height;
      const pen = film.getContext("2d");
      pen.drawImage(strip, 0, -(step - first) * height);
      if (reached >= 0) {
        pen.strokeStyle = "#ff8c00";
        pen.lineWidth = 10;
        pen.strokeRect(0, 0, film.width, film.height);
      }
      if (first + CHUNK < result.states.length) this.#strip(first + CHUNK).catch(() => {});
    } catch (error) {
      this.pause();
      say(error.message);
    }
  }

  #strip(first) {
    if (!this.strips.has(first)) {
      const states = this.result.states.slice(first, first + CHUNK);
      const size = Math.max(this.problem.height, this.problem.width);
      const cell = Math.min(64, Math.max(6, Math.floor(300 / size)));
      this.strips.set(first, pictures(this.problem, states, cell));
    }
    return this.strips.get(first);
  }

  #drawMarks() {
    if (!this.result) return;
    const { pen, width, height } = context($("marks"));
    const last = Math.max(1, this.result.states.length - 1);
    pen.fillStyle = colour("path");
    for (const step of this.result.subgoal_steps) {
      pen.fillRect(8 + (step / last) * (width - 16) - 1.5, 0, 3, height);
    }
  }

  #offerDownloads() {
    const { problem, result } = this;
    const name = `${problem.domain}-plan`;
    const gif = async () => {
      const body = { ...identify(problem), plan: result.plan, subgoals: result.subgoal_steps };
      download(`${name}.gif`, await blob("/api/gif", body), "image/gif");
    };
    const json = () => {
      const { states, formats, ...content } = result;
      download(`${name}.json`, JSON.stringify({ ...content, ...formats }, null, 1), "application/json");
    };
    const button = (label, task) => make("button", {
      type: "button", onclick: () => Promise.resolve(task()).catch((error) => say(error.message)),
    }, label);
    fill($("downloads"), "Download:", button("GIF", gif), button("JSON", json),
      ...Object.entries(result.formats).map(([format, text]) => button(
        format.replaceAll("_", " ").toUpperCase(),
        () => download(`${name}.${format}`, text, "text/plain"),
      )));
  }
}
