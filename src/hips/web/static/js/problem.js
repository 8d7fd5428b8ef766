// The problem: sampled, pasted, drawn or played. The board holds the start of the next search.

import { blob, identify, paint, post } from "./api.js";
import { $, count, fill, label, make, options, say } from "./dom.js";

const CELL = 32;
const NOTICEABLE = 300; // milliseconds
const DIRECTIONS = {
  ArrowUp: ["up", "north"], ArrowDown: ["down", "south"],
  ArrowLeft: ["left", "west"], ArrowRight: ["right", "east"],
};
const MODES = ["play", "draw", "paste"];

export class ProblemPanel {
  constructor(catalogue, { onDomain, onBoard }) {
    this.catalogue = catalogue;
    this.onDomain = onDomain;
    this.onBoard = onBoard;
    this.current = null;
    this.history = [];
    this.mode = "play";
    this.symbol = 0;
    this.cursor = [0, 0];
    this.checks = 0;
    this.settled = Promise.resolve();
    this.pasted = [];
    options($("domain"), catalogue.domains.map(({ name }) => [name, label(name)]));
    this.#listen();
  }

  get domain() {
    return this.catalogue.domains.find(({ name }) => name === $("domain").value);
  }

  /** The problem as requests describe it. */
  get problem() {
    return this.current && identify({ ...this.current, ...this.choice });
  }

  get choice() {
    return { domain: $("domain").value, variant: $("variant").value || null };
  }

  async open(name, variant, state) {
    $("domain").value = name;
    await this.#domainChanged(variant ?? "");
    this.#set(state, true);
  }

  async start() {
    await this.#domainChanged("");
    await this.sample();
  }

  async sample() {
    const asked = ++this.checks;
    const ready = this.#wait("Drawing a level; the first of a domain takes some seconds …");
    try {
      const state = await post("/api/sample", { ...this.choice, seed: Number($("seed").value) });
      if (asked !== this.checks) return;
      this.#set(state, true);
      if (this.mode === "paste") $("text").value = state.text;
    } finally {
      ready();
    }
  }

  setMode(mode) {
    this.mode = mode;
    for (const name of MODES) {
      $(`mode-${name}`).setAttribute("aria-pressed", String(name === mode));
      $(`${name}-tools`).hidden = name !== mode;
    }
    $("board").classList.toggle("drawing", mode === "draw");
    if (mode === "draw") this.#drawPalette().catch((error) => say(error.message));
    if (mode === "paste" && this.current) $("text").value = this.current.text;
    this.#show();
  }

  async move(action) {
    if (!this.current || this.current.fault) return;
    const after = await post("/api/step", { ...this.problem, action });
    if (!after.moved) return;
    this.history.push(this.current);
    this.#set(after, false);
  }

  undo() {
    if (this.history.length) this.#set(this.history.pop(), false);
  }

  /** Says what takes long, if it does, until the returned function is called. */
  #wait(text) {
    const timer = setTimeout(() => {
      $("verdict").className = "quiet";
      $("verdict").textContent = text;
      $("board").classList.add("waiting");
    }, NOTICEABLE);
    return () => {
      clearTimeout(timer);
      if ($("verdict").textContent === text) $("verdict").textContent = "";
      $("board").classList.remove("waiting");
    };
  }

  async #domainChanged(variant) {
    const { domain } = this;
    this.current = null; // the old state means nothing in the new domain
    options($("variant"), [["", "default"], ...domain.variants.map((name) => [name, name])], variant);
    $("variant-field").hidden = !domain.variants.length;
    $("about").textContent = domain.about;
    fill($("actions"), ...domain.actions.map((name, place) => make(
      "button",
      { type: "button", title: `Key ${place + 1}`, onclick: () => this.#try(() => this.move(name)) },
      name.replaceAll("_", " "),
    )));
    $("level-field").hidden = true;
    this.symbol = 0;
    this.onDomain(domain);
    if (this.mode === "draw") await this.#drawPalette();
  }

  #set(state, fresh) {
    this.current = state;
    if (fresh) this.history = [];
    this.#show();
  }

  #show() {
    const { current } = this;
    if (!current) return;
    const verdict = $("verdict");
    verdict.className = current.fault ? "bad" : "good";
    verdict.textContent = current.fault ? `Not a valid start: ${current.fault}`
      : current.solved ? "Solved." : this.mode === "draw" ? "A valid start." : "";
    $("moves").textContent = count(this.history.length, "move");
    $("undo").disabled = $("restart").disabled = !this.history.length;
    $("go-on").hidden = !this.history.length || current.solved;
    this.onBoard();
    $("rows").value = current.height;
    $("columns").value = current.width;
    $("board").setAttribute("aria-label", `The board. ${current.text}`);
    this.#try(async () => {
      const shown = current.cells;
      await paint($("board"), this.problem, shown, CELL);
      if (this.current.cells === shown && this.mode === "draw") this.#drawCursor();
    });
  }

  #drawCursor() {
    const pen = $("board").getContext("2d");
    pen.strokeStyle = "#ff8c00";
    pen.lineWidth = 3;
    pen.strokeRect(this.cursor[1] * CELL + 2, this.cursor[0] * CELL + 2, CELL - 4, CELL - 4);
  }

  async #drawPalette() {
    const sheet = await createImageBitmap(await blob("/api/symbols", this.choice));
    const { symbols } = this.domain;
    const side = sheet.width;
    fill($("palette"), ...symbols.map((name, place) => {
      const picture = make("canvas", { width: side, height: side });
      picture.getContext("2d").drawImage(sheet, 0, -place * side);
      return make("button", {
        type: "button", role: "radio", className: "palette-symbol", title: name,
        "aria-checked": String(place === this.symbol), "aria-label": name,
        onclick: () => this.#choose(place),
      }, picture);
    }));
    this.#choose(this.symbol);
  }

  #choose(symbol) {
    this.symbol = symbol;
    $("symbol-name").textContent = this.domain.symbols[symbol].replaceAll("_", " ");
    [...$("palette").children].forEach((button, place) => {
      button.setAttribute("aria-checked", String(place === symbol));
    });
  }

  #paintCell(row, column) {
    const { height, width } = this.current;
    if (row < 0 || column < 0 || row >= height || column >= width) return;
    this.cursor = [row, column];
    const cells = decode(this.current.cells);
    if (cells[row * width + column] === this.symbol) return;
    cells[row * width + column] = this.symbol;
    this.#check({ ...this.current, cells: encode(cells) });
  }

  #resize(height, width, keep) {
    if (!this.current) return;
    const cells = new Uint8Array(height * width);
    if (keep) {
      const old = decode(this.current.cells);
      for (let row = 0; row < Math.min(height, this.current.height); row++) {
        for (let column = 0; column < Math.min(width, this.current.width); column++) {
          cells[row * width + column] = old[row * this.current.width + column];
        }
      }
    }
    this.cursor = [0, 0];
    this.#check({ ...this.current, height, width, cells: encode(cells) });
  }

  /** Shows a drawn level at once and asks the domain about it. */
  #check(state) {
    this.current = state;
    this.history = [];
    const asked = ++this.checks;
    this.#try(async () => {
      const checked = await post("/api/check", this.problem);
      if (asked === this.checks) this.#set(checked, true);
    });
  }

  async #parse() {
    const found = await post("/api/parse", { ...this.choice, text: $("text").value });
    this.pasted = found.levels;
    $("level-field").hidden = this.pasted.length < 2;
    const name = (level, place) => (level.title ? `${place + 1}: ${level.title}` : String(place + 1));
    options($("level"), this.pasted.map((level, place) => [String(place), name(level, place)]));
    const count = found.unreadable.length;
    if (count) say(`${count === 1 ? "One level" : `${count} levels`} cannot be read: ${found.unreadable[0]}`);
    this.#set(this.pasted[0], true);
  }

  #try(task) {
    say("");
    const done = Promise.resolve().then(task).catch((error) => say(error.message));
    this.settled = Promise.all([this.settled, done]);
    return done;
  }

  #listen() {
    $("domain").addEventListener("change", () => this.#try(() => this.start()));
    $("variant").addEventListener("change", () => this.#try(() => this.sample()));
    $("seed").addEventListener("change", () => this.#try(() => this.sample()));
    $("sample").addEventListener("click", () => this.#try(() => {
      $("seed").value = Number($("seed").value) + 1;
      return this.sample();
    }));
    for (const name of MODES) $(`mode-${name}`).addEventListener("click", () => this.setMode(name));
    $("undo").addEventListener("click", () => this.undo());
    $("restart").addEventListener("click", () => {
      if (this.history.length) this.#set(this.history[0], true);
    });
    $("parse").addEventListener("click", () => this.#try(() => this.#parse()));
    $("level").addEventListener("change", () => this.#set(this.pasted[Number($("level").value)], true));
    const wanted = (id) => Math.min(this.catalogue.limits.side, Math.max(1, Number($(id).value) || 1));
    $("resize").addEventListener("click", () => this.#resize(wanted("rows"), wanted("columns"), true));
    $("clear").addEventListener("click", () => this.current && this.#resize(this.current.height, this.current.width, false));
    this.#listenToBoard($("board"));
  }

  #listenToBoard(board) {
    let drawing = false;
    const paintAt = (event) => {
      const box = board.getBoundingClientRect();
      const row = Math.floor(((event.clientY - box.top) / box.height) * this.current.height);
      const column = Math.floor(((event.clientX - box.left) / box.width) * this.current.width);
      this.#paintCell(row, column);
    };
    board.addEventListener("pointerdown", (event) => {
      board.focus();
      if (this.mode !== "draw" || !this.current) return;
      drawing = true;
      board.setPointerCapture(event.pointerId);
      paintAt(event);
    });
    board.addEventListener("pointermove", (event) => drawing && paintAt(event));
    board.addEventListener("pointerup", () => { drawing = false; });
    board.addEventListener("pointercancel", () => { drawing = false; });
    board.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !this.current) return;
      if (this.mode === "draw" ? this.#drawKey(event) : this.#playKey(event)) event.preventDefault();
    });
  }

  #playKey(event) {
    const { actions } = this.domain;
    const named = actions.find((name) => DIRECTIONS[event.key]?.includes(name));
    const numbered = actions[Number(event.key) - 1];
    if (event.key.toLowerCase() === "z" || event.key === "Backspace") this.undo();
    else if (named ?? numbered) this.#try(() => this.move(named ?? numbered));
    else return false;
    return true;
  }

  #drawKey(event) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const count = this.domain.symbols.length;
    if (steps[event.key]) {
      const [down, right] = steps[event.key];
      const clamp = (value, size) => Math.min(size - 1, Math.max(0, value));
      this.cursor = [clamp(this.cursor[0] + down, this.current.height),
        clamp(this.cursor[1] + right, this.current.width)];
      this.#show();
    } else if (event.key === " " || event.key === "Enter") this.#paintCell(...this.cursor);
    else if (event.key === "]") this.#choose((this.symbol + 1) % count);
    else if (event.key === "[") this.#choose((this.symbol + count - 1) % count);
    else return false;
    return true;
  }
}

function decode(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

function encode(cells) {
  return btoa(String.fromCharCode(...cells));
}
