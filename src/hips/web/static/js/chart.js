// Curves on a canvas, with axes that read 1, 2, 5, 10.

import { colour, context, make, short } from "./dom.js";

const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
export const COLOURS = ["#2f81d6", "#d9700f", "#1f9d6b", "#c0579b", "#b98a00", "#3fa9d6", "#868e96"];

/** Round values between two ends: 1, 2 or 5 times a power of ten. */
export function ticks(low, high, logarithmic, most = 6) {
  const found = [];
  if (logarithmic) {
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
      for (const digit of [1, 2, 5]) {
        const value = digit * 10 ** power;
        if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
      }
    }
    const decades = found.filter((value) => Number.isInteger(Math.round(Math.log10(value) * 1e6) / 1e6));
    // A range of several decades has room for 1, 2 and 5 only on a wide chart.
    return found.length > most && decades.length > 2 ? decades : found;
  }
  const rough = (high - low || 1) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((digit) => digit * power).find((value) => value >= rough);
  for (let value = Math.ceil(low / step) * step; value <= high + step / 1e6; value += step) {
    found.push(Number(value.toPrecision(12)));
  }
  return found;
}

/** Draws curves `{points: [[x, y]], steps, dots, low, high}` into a canvas. */
export function drawChart(canvas, curves, { xLabel = "", yLabel = "", logX = false, categories = [],
  level = null, fromZero = true } = {}) {
  const { pen, width, height } = context(canvas);
  const used = curves.filter((curve) => curve.points.length);
  if (!used.length || width < 80) return;
  const xs = used.flatMap((curve) => curve.points.map((point) => point[0]));
  const ys = used.flatMap((curve) => [...curve.points.map((p) => p[1]), ...(curve.high ?? [])]);
  const minimum = (values) => values.reduce((a, b) => Math.min(a, b));
  const maximum = (values) => values.reduce((a, b) => Math.max(a, b));
  const lowX = logX ? Math.max(1e-3, minimum(xs)) : Math.min(minimum(xs), categories.length ? -0.3 : 0);
  const highX = Math.max(maximum(xs) + (categories.length ? 0.3 : 0), lowX + 1e-9, logX ? lowX * 2 : 1);
  const lowY = fromZero ? Math.min(0, minimum(ys)) : minimum(ys);
  const top = Math.max(maximum(ys), level ?? 0);
  const highY = top > lowY ? top : lowY + 1;
  const box = { left: 46, right: width - 20, top: 10, bottom: height - 34 };
  const share = (x) => (logX
    ? Math.log(Math.max(x, lowX) / lowX) / Math.log(highX / lowX)
    : (x - lowX) / (highX - lowX));
  const toX = (x) => box.left + share(x) * (box.right - box.left);
  const toY = (y) => box.bottom - ((y - lowY) / (highY - lowY)) * (box.bottom - box.top);
  pen.font = "11px system-ui";
  pen.fillStyle = colour("quiet");
  pen.strokeStyle = colour("line");
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  for (const y of ticks(lowY, highY, false, 5)) {
    pen.fillText(short(y), box.left - 5, toY(y));
    line(pen, box.left, toY(y), box.right, toY(y));
  }
  pen.textAlign = "center";
  const places = categories.length ? categories.map((_, place) => place)
    : ticks(lowX, highX, logX, Math.max(3, Math.floor(width / (logX ? 36 : 70))));
  for (const x of places) {
    pen.fillText(categories[x] ?? short(x), toX(x), box.bottom + 11);
    line(pen, toX(x), box.bottom, toX(x), box.bottom + 4);
  }
  pen.fillText(xLabel, (box.left + box.right) / 2, height - 7);
  pen.save();
  pen.translate(9, (box.top + box.bottom) / 2);
  pen.rotate(-Math.PI / 2);
  pen.fillText(yLabel, 0, 0);
  pen.restore();
  if (level !== null) line(pen, box.left, toY(level), box.right, toY(level));
  used.forEach((curve, place) => {
    // Earlier curves are wider, so that one that lies below another still shows.
    pen.lineWidth = Math.min(4.5, 1.8 + 0.5 * (used.length - 1 - place));
    drawCurve(pen, curve, toX, toY, box);
  });
}

/** A piece of a curve for a legend. */
export function swatch(colour, dash) {
  const canvas = make("canvas", { className: "swatch", "aria-hidden": "true", width: 52, height: 12 });
  const pen = canvas.getContext("2d");
  pen.scale(2, 2);
  pen.strokeStyle = colour;
  pen.lineWidth = 2.5;
  pen.setLineDash(dashes(dash));
  pen.moveTo(0, 3);
  pen.lineTo(26, 3);
  pen.stroke();
  return canvas;
}

const dashes = (dash) => DASHES[(dash ?? 0) % DASHES.length];

function drawCurve(pen, curve, toX, toY, box) {
  pen.strokeStyle = pen.fillStyle = curve.colour;
  pen.setLineDash(dashes(curve.dash));
  pen.beginPath();
  let last = null;
  curve.points.forEach(([x, y], place) => {
    if (curve.dots) {
      pen.moveTo(toX(x) + 4, toY(y));
      pen.arc(toX(x), toY(y), 4, 0, 7);
      if (curve.low?.length) {
        pen.moveTo(toX(x), toY(curve.low[place]));
        pen.lineTo(toX(x), toY(curve.high[place]));
      }
    } else if (last === null) pen.moveTo(toX(x), toY(y));
    else {
      if (curve.steps) pen.lineTo(toX(x), toY(last));
      pen.lineTo(toX(x), toY(y));
    }
    last = y;
  });
  if (curve.steps && curve.extend) pen.lineTo(box.right, toY(last));
  pen.stroke();
  pen.setLineDash([]);
}

function line(pen, x1, y1, x2, y2) {
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.lineTo(x2, y2);
  pen.stroke();
}
