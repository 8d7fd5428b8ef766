// Requests to the server. Errors are JSON problems; `detail` says what to do.

export class Problem extends Error {}

async function answer(response) {
  if (response.ok) return response;
  let detail = `${response.status} ${response.statusText}`;
  try {
    const content = await response.json();
    const line = content.line ? `line ${content.line}: ` : "";
    detail = content.detail.startsWith("line") ? content.detail : line + content.detail;
  } catch { /* not JSON */ }
  throw new Problem(detail);
}

async function request(path, body, signal) {
  const settings = body === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
  try {
    return await answer(await fetch(path, { ...settings, signal }));
  } catch (error) {
    if (error instanceof Problem || error.name === "AbortError") throw error;
    throw new Problem("The server does not answer. Is `hips web` still running?");
  }
}

export const get = async (path) => (await request(path)).json();
export const post = async (path, body) => (await request(path, body)).json();
export const blob = async (path, body) => (await request(path, body)).blob();

/** What a request says about a problem. */
export function identify({ domain, variant, height, width, cells }) {
  return { domain, variant: variant || null, height, width, cells };
}

/** A strip of pictures of states, one below the other. */
export async function pictures(problem, states, cell) {
  const body = { ...identify(problem), cells: states, cell };
  return createImageBitmap(await blob("/api/pictures", body));
}

const drawn = new Map();
const strips = new Map();
const KEPT = 400;
const STRIP_MILLISECONDS = 15;
const STRIP_STATES = 64;
const STRIP_PIXELS = 4_000_000;

/** The picture of one state; the last ones are kept. */
export async function picture(problem, cells, cell) {
  const style = `${problem.domain}/${problem.variant}/${problem.height}x${problem.width}/${cell}`;
  const key = `${style}/${cells}`;
  if (!drawn.has(key)) {
    if (drawn.size >= KEPT) drawn.delete(drawn.keys().next().value);
    drawn.set(key, fromStrip(style, problem, cells, cell).catch((error) => {
      drawn.delete(key);
      throw error;
    }));
  }
  return drawn.get(key);
}

/** Pictures wanted at almost the same time come as one strip. */
async function fromStrip(style, problem, cells, cell) {
  const size = problem.height * problem.width * cell ** 2;
  const most = Math.max(1, Math.min(STRIP_STATES, Math.floor(STRIP_PIXELS / size)));
  let strip = strips.get(style);
  if (!strip || strip.states.length >= most) {
    const opened = { states: [] };
    opened.image = new Promise((resolve) => { setTimeout(resolve, STRIP_MILLISECONDS); }).then(() => {
      if (strips.get(style) === opened) strips.delete(style);
      return pictures(problem, opened.states, cell);
    });
    strips.set(style, opened);
    strip = opened;
  }
  const place = strip.states.push(cells) - 1;
  const image = await strip.image;
  const height = image.height / strip.states.length;
  return createImageBitmap(image, 0, place * height, image.width, height);
}

/** Draws a state into a canvas of its own size. */
export async function paint(canvas, problem, cells, cell) {
  const image = await picture(problem, cells, cell);
  canvas.width = image.width;
  canvas.height = image.height;
  canvas.getContext("2d").drawImage(image, 0, 0);
}

/** Starts a search; calls `hear(name, content)` for every event until the stream ends. */
export async function search(body, hear, signal) {
  const response = await request("/api/searches", body, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const found = /^event: (.*)\ndata: (.*)$/s.exec(block);
      if (found) hear(found[1], JSON.parse(found[2]));
    }
  }
}
