// A heap of open nodes: the next ones to expand at hand, without sorting all of them.

/** Whether one entry comes before another. */
const before = (a, b) => a.tier - b.tier || a.key - b.key || a.number - b.number;

export class OpenHeap {
  #entries = [];

  /** Adds a node at its present place; an earlier entry of the same node becomes void. */
  push(node) {
    node.ticket = (node.ticket ?? 0) + 1;
    this.#insert({ node, ticket: node.ticket, tier: node.tier, number: node.number,
      key: node.key ?? -Infinity });
  }

  /** The first `most` nodes in order. */
  first(most) {
    const found = [];
    while (this.#entries.length && found.length < most) {
      const entry = this.#take();
      const { node } = entry;
      if (entry.ticket === node.ticket && node.order === null && !node.goal) found.push(entry);
    }
    found.forEach((entry) => this.#insert(entry));
    return found.map(({ node }) => node);
  }

  #insert(entry) {
    const entries = this.#entries;
    let place = entries.push(entry) - 1;
    while (place > 0) {
      const above = (place - 1) >> 1;
      if (before(entries[above], entry) <= 0) break;
      entries[place] = entries[above];
      place = above;
    }
    entries[place] = entry;
  }

  #take() {
    const entries = this.#entries;
    const top = entries[0];
    const last = entries.pop();
    if (!entries.length) return top;
    let place = 0;
    for (;;) {
      let below = 2 * place + 1;
      if (below >= entries.length) break;
      if (below + 1 < entries.length && before(entries[below + 1], entries[below]) < 0) below += 1;
      if (before(last, entries[below]) <= 0) break;
      entries[place] = entries[below];
      place = below;
    }
    entries[place] = last;
    return top;
  }
}
