// Dragging, pinching, clicking and turning the wheel on a canvas.

const CLICK = 4; // pixels; who moves farther drags

/** Calls `drag(right, down)`, `pinch(factor, x, y)` and `click(x, y)` with places on the canvas. */
export function listenToGestures(canvas, { drag, pinch, click }) {
  const pointers = new Map();
  let moved = 0;
  const place = ({ clientX, clientY }) => {
    const box = canvas.getBoundingClientRect();
    return [clientX - box.left, clientY - box.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, place(event));
    moved = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const last = pointers.get(event.pointerId);
    if (!last) return;
    const now = place(event);
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const [before, after] = [last, now].map(([x, y]) => Math.hypot(x - other[0], y - other[1]));
      moved = Infinity;
      if (before > 0) pinch(after / before, (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    } else {
      moved += Math.abs(now[0] - last[0]) + Math.abs(now[1] - last[1]);
      if (moved > CLICK) drag(now[0] - last[0], now[1] - last[1]);
    }
    pointers.set(event.pointerId, now);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(name, (event) => {
      const pressed = pointers.delete(event.pointerId);
      if (pressed && moved <= CLICK && name === "pointerup") click(...place(event));
    });
  }
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    pinch(Math.exp(-event.deltaY * 0.0015), ...place(event));
  }, { passive: false });
}
