// Draws what of a search tree is in sight: pictures of states where there is room, else circles.

import { colour } from "./dom.js";

export const RADIUS = 11;
const PICTURE = 56;
const PICTURES_FROM = 0.42;
const NOTES_FROM = 0.55;
const MOST_PICTURES = 200;
const MARGIN = 40;
const DOTS_FROM = 800; // so many visible nodes are dots, and their edges plain lines
const LOWEST = 2; // pixels; a lower subtree is a stroke
const INKS = ["subgoal", "action", "path", "goal", "ink", "quiet", "node", "card", "focus", "soft"];

/** Draws a laid-out tree; returns its visible nodes with their places, `[{node, left, top}]`. */
export function drawTree(pen, { layout, tree, view, selected, thumbnails }, width, height) {
  const { nodes, edges, strokes } = layout.inSight(view, width, height, MARGIN, LOWEST);
  const path = tree.path();
  const zoom = Math.min(view.across, view.along);
  const scene = {
    pen, selected, thumbnails, zoom, onPath: new Set(path),
    ink: Object.fromEntries(INKS.map((name) => [name, colour(name)])),
    pictures: zoom >= PICTURES_FROM && nodes.length <= MOST_PICTURES,
    dots: nodes.length > DOTS_FROM || strokes.length > 0,
  };
  const place = (node) => {
    const { x, y } = layout.position(node);
    return { node, left: view.x + x * view.across, top: view.y + y * view.along };
  };
  drawStrokes(scene, strokes);
  drawEdges(scene, edges.filter(({ to }) => !scene.onPath.has(to.node)), false);
  if (scene.dots) drawDots(scene, nodes);
  const plan = layout.shows(path.at(-1) ?? tree.root) ? path.map(place) : [];
  drawEdges(scene, plan.slice(1).map((to, before) => ({ from: plan[before], to })), true);
  if (!scene.dots) nodes.forEach((one) => drawNode(scene, one));
  else plan.forEach((one) => drawCircle(scene, one));
  if (scene.dots && selected && layout.shows(selected)) drawNode(scene, place(selected));
  return nodes;
}

/** Subtrees without room for their nodes: a line as long as they are deep. */
function drawStrokes({ pen, ink }, strokes) {
  pen.beginPath();
  for (const { left, right, top } of strokes) {
    pen.moveTo(left, top);
    pen.lineTo(right, top);
  }
  pen.lineWidth = 1;
  pen.strokeStyle = ink.quiet;
  pen.globalAlpha = 0.5;
  pen.stroke();
  pen.globalAlpha = 1;
}

function drawEdges({ pen, ink, zoom, dots }, edges, onPath) {
  const fine = Math.min(1, Math.max(0.35, 3 * zoom));
  for (const kind of [2, 1]) {
    pen.beginPath();
    for (const { from, to } of edges) {
      if (to.node.kind !== kind) continue;
      pen.moveTo(from.left, from.top);
      pen.lineTo(to.left, to.top);
    }
    pen.setLineDash(kind === 2 && !dots ? [4, 4] : []);
    pen.lineWidth = dots && !onPath ? 1 : (kind === 1 ? 2.4 : 1.5) * fine + (onPath ? 1 : 0);
    pen.strokeStyle = onPath ? ink.path : kind === 1 ? ink.subgoal : ink.action;
    pen.globalAlpha = onPath ? 1 : 0.75;
    pen.stroke();
  }
  pen.setLineDash([]);
  pen.globalAlpha = 1;
}

/** Many nodes at once: small squares. */
function drawDots({ pen, ink, zoom }, nodes) {
  const side = Math.max(2, 1.5 * RADIUS * Math.min(1.2, zoom));
  for (const goals of [false, true]) {
    pen.fillStyle = goals ? ink.goal : ink.quiet;
    for (const { node, left, top } of nodes) {
      if (Boolean(node.goal) === goals) pen.fillRect(left - side / 2, top - side / 2, side, side);
    }
  }
}

function drawNode(scene, { node, left, top }) {
  const { pen, onPath, ink, zoom, selected } = scene;
  const picture = scene.pictures ? scene.thumbnails.get(node.cells) : null;
  const edge = onPath.has(node) ? ink.path : node.goal ? ink.goal : ink.quiet;
  const half = picture ? drawPicture(scene, picture, { node, left, top }, edge)
    : drawCircle(scene, { node, left, top }, edge);
  if (node === selected) {
    pen.lineWidth = 3;
    pen.strokeStyle = ink.focus;
    pen.beginPath();
    pen.roundRect(left - half[0] - 4, top - half[1] - 4, 2 * half[0] + 8, 2 * half[1] + 8,
      picture ? 6 : half[0] + 4);
    pen.stroke();
  }
  if (zoom > NOTES_FROM) drawNotes(scene, { node, left, top }, half, Boolean(picture));
}

const isOpen = (node) => node.order === null && !node.goal;

function drawCircle({ pen, ink, zoom, onPath }, { node, left, top }, edge = ink.path) {
  const radius = Math.max(1.4, RADIUS * Math.min(1.2, zoom) * (isOpen(node) ? 0.6 : 1));
  pen.beginPath();
  pen.arc(left, top, radius, 0, 7);
  pen.fillStyle = node.goal ? ink.goal : isOpen(node) ? ink.card : ink.node;
  pen.fill();
  pen.lineWidth = onPath.has(node) ? 2.5 : 1;
  pen.strokeStyle = edge;
  pen.stroke();
  return [radius, radius];
}

function drawPicture({ pen, zoom }, image, { node, left, top }, edge) {
  const { width, height } = image;
  const scale = (PICTURE * zoom * (isOpen(node) ? 0.7 : 1)) / Math.max(width, height);
  const half = [(width * scale) / 2, (height * scale) / 2];
  const box = [left - half[0], top - half[1], 2 * half[0], 2 * half[1]];
  pen.globalAlpha = isOpen(node) ? 0.75 : 1;
  pen.drawImage(image, ...box);
  pen.globalAlpha = 1;
  pen.lineWidth = 2.5;
  pen.strokeStyle = edge;
  pen.strokeRect(...box);
  return half;
}

/** The order of expansion, and the number of children that are not shown. */
function drawNotes({ pen, ink, zoom }, { node, left, top }, [, high], pictured) {
  pen.font = `${Math.round(11 * Math.min(1.1, zoom))}px system-ui`;
  pen.textBaseline = "middle";
  pen.textAlign = "center";
  const order = node.order === null ? "" : String(node.order);
  const hidden = node.hidden > 0 ? `+${node.hidden}` : "";
  if (order && !pictured) {
    pen.fillStyle = ink.ink;
    pen.fillText(order, left, top + 0.5);
  }
  pen.fillStyle = ink.quiet;
  pen.fillText(pictured ? [order, hidden].filter(Boolean).join("  ") : hidden, left, top + high + 9 * zoom);
}
