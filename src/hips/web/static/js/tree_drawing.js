// Draws a laid-out search tree: pictures of states where there is room, circles elsewhere.

import { colour } from "./dom.js";

export const RADIUS = 11;
const PICTURE = 56;
const PICTURES_FROM = 0.55;
const MOST_PICTURES = 200;
const MARGIN = 40;
const DOTS_FROM = 1000; // so many visible nodes are dots, and their edges plain lines
const INKS = ["subgoal", "action", "path", "goal", "ink", "quiet", "node", "card", "focus", "soft"];

/** Draws `{placed, tree, view, selected}` with a pen; `thumbnails` draws the states. */
export function drawTree(pen, { placed, tree, view, selected }, thumbnails, width, height) {
  const scene = {
    pen, selected, thumbnails, zoom: Math.min(view.across, view.along), path: tree.path(),
    ink: Object.fromEntries(INKS.map((name) => [name, colour(name)])),
    at: (node) => [view.x + node.x * view.across, view.y + node.y * view.along],
  };
  const visible = placed.filter((node) => {
    const [left, top] = scene.at(node);
    return left > -MARGIN && top > -MARGIN && left < width + MARGIN && top < height + MARGIN;
  });
  scene.pictures = scene.zoom >= PICTURES_FROM && visible.length <= MOST_PICTURES;
  scene.dots = visible.length > DOTS_FROM;
  drawEdges(scene, placed, width, height);
  if (scene.dots) drawDots(scene, visible);
  else for (const node of visible) drawNode(scene, node);
}

function drawEdges({ pen, at, path, ink, zoom, dots }, placed, width, height) {
  for (const kind of [2, 1]) {
    for (const onPath of [false, true]) {
      pen.beginPath();
      let drawn = -1; // neighbours of a squeezed tree lie on each other
      for (const node of placed) {
        if (node.kind !== kind || path.has(node) !== onPath) continue;
        const [left, top] = at(node);
        const [fromLeft, fromTop] = at(node.parent);
        if (Math.max(left, fromLeft) < 0 || Math.min(left, fromLeft) > width) continue;
        if (top < 0 || fromTop > height) continue;
        const place = Math.round(left) * 10_000 + Math.round(top);
        if (dots && place === drawn) continue;
        drawn = place;
        pen.moveTo(fromLeft, fromTop);
        pen.lineTo(left, top);
      }
      pen.setLineDash(kind === 2 && !dots ? [4, 4] : []);
      const fine = Math.min(1, Math.max(0.35, 3 * zoom));
      pen.lineWidth = dots && !onPath ? 1 : (kind === 1 ? 2.4 : 1.5) * fine + (onPath ? 1 : 0);
      pen.strokeStyle = onPath ? ink.path : kind === 1 ? ink.subgoal : ink.action;
      pen.globalAlpha = onPath ? 1 : 0.75;
      pen.stroke();
    }
  }
  pen.setLineDash([]);
  pen.globalAlpha = 1;
}

/** Thousands of nodes at once: small squares, those in one place only once. */
function drawDots(scene, visible) {
  const { pen, at, path, ink, zoom, selected } = scene;
  const side = Math.max(2, 1.5 * RADIUS * Math.min(1.2, zoom));
  const shapes = new Map([ink.quiet, ink.path, ink.goal].map((fill) => [fill, new Map()]));
  for (const node of visible) {
    const [left, top] = at(node).map(Math.round);
    const fill = path.has(node) ? ink.path : node.goal ? ink.goal : ink.quiet;
    shapes.get(fill).set(left * 10_000 + top, [left, top]);
  }
  for (const [fill, places] of shapes) {
    pen.fillStyle = fill;
    for (const [left, top] of places.values()) pen.fillRect(left - side / 2, top - side / 2, side, side);
  }
  if (visible.includes(selected)) drawNode(scene, selected);
}

function drawNode(scene, node) {
  const { pen, at, path, ink, zoom, selected } = scene;
  const [left, top] = at(node);
  const picture = scene.pictures ? scene.thumbnails.get(node.cells) : null;
  const open = node.order === null && !node.goal;
  const edge = path.has(node) ? ink.path : node.goal ? ink.goal : ink.quiet;
  const half = picture ? drawPicture(scene, picture, left, top, edge, open)
    : drawCircle(scene, node, left, top, edge, open);
  if (node === selected) {
    pen.lineWidth = 3;
    pen.strokeStyle = ink.focus;
    pen.beginPath();
    pen.roundRect(left - half[0] - 4, top - half[1] - 4, 2 * half[0] + 8, 2 * half[1] + 8,
      picture ? 6 : half[0] + 4);
    pen.stroke();
  }
  if (zoom > 0.55) drawNotes(scene, node, left, top, half, Boolean(picture));
}

function drawCircle({ pen, ink, zoom, path }, node, left, top, edge, open) {
  const radius = Math.max(1.4, RADIUS * Math.min(1.2, zoom) * (open ? 0.6 : 1));
  pen.beginPath();
  pen.arc(left, top, radius, 0, 7);
  pen.fillStyle = node.goal ? ink.goal : open ? ink.card : ink.node;
  pen.fill();
  pen.lineWidth = path.has(node) ? 2.5 : 1;
  pen.strokeStyle = edge;
  pen.stroke();
  return [radius, radius];
}

function drawPicture({ pen, zoom }, image, left, top, edge, open) {
  const { width, height } = image;
  const scale = (PICTURE * zoom * (open ? 0.7 : 1)) / Math.max(width, height);
  const half = [(width * scale) / 2, (height * scale) / 2];
  const box = [left - half[0], top - half[1], 2 * half[0], 2 * half[1]];
  pen.globalAlpha = open ? 0.75 : 1;
  pen.drawImage(image, ...box);
  pen.globalAlpha = 1;
  pen.lineWidth = 2.5;
  pen.strokeStyle = edge;
  pen.strokeRect(...box);
  return half;
}

/** The order of expansion, and the number of children that are not shown. */
function drawNotes({ pen, ink, zoom }, node, left, top, [, high], pictured) {
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
