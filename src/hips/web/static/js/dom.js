// Small helpers for the document.

export const $ = (id) => document.getElementById(id);

/** An element with properties, and children that are elements or text. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && name !== "role") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren(...children.filter((child) => child !== null));
}

export function options(select, entries, chosen) {
  fill(select, ...entries.map(([value, label]) => make("option", { value }, label)));
  if (entries.some(([value]) => value === chosen)) select.value = chosen;
}

export function table(element, head, rows) {
  const first = rows.find((row) => row.matches("[tabindex]"));
  if (first) first.tabIndex = 0;
  fill(
    element,
    make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col" }, text)))),
    make("tbody", {}, ...rows),
  );
}

/** The only row of an empty table: what will be there. */
export function emptyRow(columns, text) {
  return make("tr", {}, make("td", { className: "empty", colSpan: columns }, text));
}

/** A row of a table that can be chosen with the mouse, or with Enter; arrows walk the rows.
 *
 * The Tab key stops once at the table: at the row that was visited last.
 */
export function choosable(cells, choose, chosen = false) {
  const keys = {
    Enter: choose,
    ArrowDown: (row) => visit(row.nextElementSibling),
    ArrowUp: (row) => visit(row.previousElementSibling),
    Home: (row) => visit([...row.parentElement.rows].find(canBeVisited)),
    End: (row) => visit([...row.parentElement.rows].findLast(canBeVisited)),
  };
  return make(
    "tr",
    {
      tabIndex: -1,
      className: chosen ? "chosen" : "",
      onclick: choose,
      onfocus: (event) => takeStop(event.currentTarget),
      onkeydown: (event) => {
        if (!keys[event.key]) return;
        event.preventDefault();
        keys[event.key](event.currentTarget);
      },
    },
    ...cells.map((cell) => make("td", {}, cell)),
  );
}

const canBeVisited = (row) => row?.matches("[tabindex]:not([hidden])");

function visit(row) {
  if (canBeVisited(row)) row.focus();
}

function takeStop(row) {
  for (const other of row.parentElement.rows) if (other.tabIndex === 0) other.tabIndex = -1;
  row.tabIndex = 0;
}

export function say(text) {
  const place = $("message");
  place.hidden = !text;
  place.textContent = text;
}

/** Prepares a canvas for sharp drawing in CSS pixels. */
export function context(canvas) {
  const scale = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  return { pen, width, height };
}

const colours = new Map();
new MutationObserver(() => colours.clear()).observe(document.documentElement, { attributeFilter: ["data-theme"] });

/** A colour of the theme; asking the style sheet at every drawing would be slow. */
export function colour(name) {
  if (!colours.has(name)) {
    colours.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  }
  return colours.get(name);
}

export function short(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(1);
  return String(Number(value.toPrecision(digits)));
}

export function count(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** The name of a registered thing as a label. */
export function label(name) {
  const words = name.replaceAll("_", " ");
  return words.length <= 3 ? words.toUpperCase() : words.charAt(0).toUpperCase() + words.slice(1);
}

export function download(name, content, type) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Calls a function at most once per animation frame, and at most every `pause` milliseconds. */
export function throttled(task, pause = 0) {
  let waiting = false;
  let last = -Infinity;
  return () => {
    if (waiting) return;
    waiting = true;
    const rest = Math.max(0, last + pause - performance.now());
    setTimeout(() => requestAnimationFrame(() => {
      waiting = false;
      last = performance.now();
      task();
    }), rest);
  };
}
