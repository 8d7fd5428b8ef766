// Where the nodes of a tree are: the tree grows from left to right, every visible leaf has a row.
//
// A node knows the rows of its subtree and how deep it is, so a change concerns only the nodes
// above it, and whoever draws skips whole subtrees.

const GAP_DEPTH = 88;
const GAP_LEAF = 78;

/** What the layout knows of a node without visible children. */
export const leaf = () => ({ shown: [], rows: 1, below: 0, size: 1, hidden: 0 });

export class TreeLayout {
  constructor() {
    this.root = null;
    this.selected = null;
    this.showOpen = false;
  }

  get extent() {
    const { below = 0, rows = 1 } = this.root ?? {};
    return { width: below * GAP_DEPTH, height: (rows - 1) * GAP_LEAF };
  }

  /** Measures changed nodes and those above them, each once. */
  update(changed) {
    const levels = [];
    const met = new Set();
    for (const node of changed) {
      for (let one = node; one && !met.has(one); one = one.parent) {
        met.add(one);
        (levels[one.depth] ??= []).push(one);
      }
    }
    for (let depth = levels.length - 1; depth >= 0; depth--) levels[depth]?.forEach((node) => this.#measure(node));
  }

  #measure(node) {
    const shown = this.#visible(node);
    node.shown = shown;
    node.hidden = node.children.length - shown.length;
    node.rows = 0;
    node.below = 0;
    node.size = 1;
    for (const child of shown) {
      node.rows += child.rows;
      node.size += child.size;
      if (child.below >= node.below) node.below = child.below + 1;
    }
    node.rows ||= 1;
  }

  #visible(node) {
    if (node.folded) return [];
    if (this.showOpen || node === this.selected) return [...node.children];
    return node.children.filter((child) => child.order !== null || child.goal || child === this.selected);
  }

  /** Whether a node and everything above it is visible. */
  shows(node) {
    for (let one = node; one.parent; one = one.parent) {
      if (!one.parent.shown.includes(one)) return false;
    }
    return this.root !== null;
  }

  /** Where a node is, without zoom. */
  position(node) {
    let first = 0;
    for (let one = node; one.parent; one = one.parent) {
      for (const sibling of one.parent.shown) {
        if (sibling === one) break;
        first += sibling.rows;
      }
    }
    return { x: node.depth * GAP_DEPTH, y: this.middle(node, first) };
  }

  /** The height of a node whose subtree begins with row `first`. */
  middle(node, first) {
    return (first + (node.rows - 1) / 2) * GAP_LEAF;
  }

  /** What of the tree lies on a canvas.
   *
   * Returns `{nodes, edges, strokes}`: nodes and edges in sight with their places, and strokes for
   * subtrees that are lower than `least` pixels, which are not entered.
   */
  inSight(view, width, height, margin, least) {
    const found = { nodes: [], edges: [], strokes: [] };
    if (!this.root) return found;
    const across = GAP_DEPTH * view.across;
    const along = GAP_LEAF * view.along;
    const top = (node, first) => view.y + this.middle(node, first) * view.along;
    const waiting = [{ node: this.root, first: 0, left: view.x, top: top(this.root, 0) }];
    while (waiting.length) {
      const place = waiting.pop();
      const { node, left } = place;
      if (left > -margin && left < width + margin && place.top > -margin && place.top < height + margin) {
        found.nodes.push(place);
      }
      let first = place.first;
      for (const child of node.shown) {
        const begin = view.y + (first - 0.5) * along;
        const end = begin + child.rows * along;
        const next = { node: child, first, left: left + across, top: top(child, first) };
        first += child.rows;
        if (next.left < 0 || left > width) {
          // Neither the edge nor a picture is in sight; what lies to the right may be.
        } else if (Math.max(place.top, next.top) >= 0 && Math.min(place.top, next.top) <= height) {
          found.edges.push({ from: place, to: next });
        }
        if (end < -margin || begin > height + margin || left > width + margin) continue;
        if (end - begin >= least) waiting.push(next);
        else if (child.below) {
          found.strokes.push({ node: child, left: next.left, right: next.left + child.below * across, top: next.top });
        }
      }
    }
    return found;
  }
}
