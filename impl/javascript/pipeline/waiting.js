/** Looks again and again, with pauses that double (requirements Q26, Q27; ruling QA24). */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 1000;

/** Sleeps without keeping a process alive that has nothing else to do. */
function pause(milliseconds) {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds).unref();
  });
}

/**
 * What the first look that finds something finds, or a promise of it; undefined where the time is over.
 *
 * Without a timeout it waits for ever; the first look is made at once, so that 0 is one look.
 */
export function lookUntil(look, timeoutMs) {
  const begun = performance.now();
  const found = look();
  return found !== undefined || timeoutMs === 0n ? found : lookAgain(look, begun + Number(timeoutMs ?? Infinity));
}

async function lookAgain(look, deadline) {
  for (let longest = FIRST_PAUSE_MS; ; longest = Math.min(2 * longest, LONGEST_PAUSE_MS)) {
    const left = deadline - performance.now();
    if (left <= 0) return undefined;
    await pause(Math.min(longest, left));
    const found = look();
    if (found !== undefined) return found;
  }
}
