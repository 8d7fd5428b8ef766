// A link that holds a problem and its settings.

export function write(content) {
  const bytes = new TextEncoder().encode(JSON.stringify(content));
  const text = btoa(String.fromCharCode(...bytes));
  const safe = text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return `${location.origin}${location.pathname}#${safe}`;
}

/** The content of the page's link; null without one. */
export function read() {
  const text = location.hash.slice(1).replaceAll("-", "+").replaceAll("_", "/");
  if (!text) return null;
  try {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const content = JSON.parse(new TextDecoder().decode(bytes));
    return typeof content.problem.domain === "string" && Array.isArray(content.lanes) ? content : null;
  } catch {
    return null;
  }
}
