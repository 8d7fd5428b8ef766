// Outcomes of searches in words.

const WORDS = {
  SOLVED: "solved",
  UNSOLVABLE: "proved: there is no plan",
  UNSOLVED_INCOMPLETE: "gave up, no proof",
  OUT_OF_EXPANSIONS: "out of expansions",
  OUT_OF_TIME: "out of time",
  OUT_OF_MEMORY: "out of memory",
  INTERRUPTED: "stopped",
};

export function say(outcome) {
  return WORDS[outcome] ?? outcome.toLowerCase().replaceAll("_", " ");
}
