/** The z-score of a number in binary32, 0 where nothing deviates; each step before is one of binary64 (seed 004 §2). */
export function score(value, mean, deviation) {
  return deviation === 0 ? 0 : Math.fround((value - mean) / deviation);
}
