// Small pictures of the states of one problem, at hand once they have arrived.

import { picture } from "./api.js";

const SIDE = 120;
const KEPT = 3_000;

export class Thumbnails {
  constructor(changed) {
    this.changed = changed;
    this.begin(null);
  }

  /** Pictures of another problem. */
  begin(problem) {
    this.problem = problem;
    this.drawn = new Map();
  }

  /** The picture of a state; null until it has arrived. */
  get(cells) {
    const { problem, drawn } = this;
    if (!problem || drawn.has(cells)) return drawn.get(cells) ?? null;
    if (drawn.size >= KEPT) drawn.clear();
    drawn.set(cells, null);
    const cell = Math.max(2, Math.min(48, Math.floor(SIDE / Math.max(problem.height, problem.width))));
    picture(problem, cells, cell).then((image) => {
      drawn.set(cells, image);
      this.changed();
    }).catch(() => {}); // a circle remains
    return null;
  }
}
