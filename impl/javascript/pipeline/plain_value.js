/**
 * Plain values, all that a metadata file may hold: dict, list, str, int, float, bool and None (ruling QA21).
 *
 * In memory they are CBOR items: `Pairs`, arrays, texts, BigInts, numbers, booleans and null.
 */
import { Pairs } from "../cbor.js";

/** What tells the keys of a dict apart: numbers that are equal are one key, whatever their types. */
function identityOf(key) {
  if (key === null) return "null";
  if (typeof key === "string") return `t${key}`;
  const isWhole = typeof key === "boolean" || Number.isInteger(key);
  return `n${isWhole ? BigInt(key) : key}`;
}

function isScalar(item) {
  if (typeof item === "string") return item.isWellFormed();
  return item === null || ["boolean", "bigint", "number"].includes(typeof item);
}

/** A dict that grows key by key; a key that comes again gets the later value. */
export class Dict extends Pairs {
  #at = new Map();

  constructor() {
    super([]);
  }

  /** Sets a key; false for one that no dict of plain values can have. */
  set(key, value) {
    if (!isScalar(key)) return false;
    const identity = identityOf(key);
    if (!this.#at.has(identity)) {
      this.#at.set(identity, this.entries.length);
      this.entries.push([key, value]);
    }
    this.entries[this.#at.get(identity)][1] = value;
    return true;
  }
}

function hasDistinctKeys({ entries }) {
  if (!entries.every(([key]) => isScalar(key))) return false;
  return new Set(entries.map(([key]) => identityOf(key))).size === entries.length;
}

/** The containers' children; undefined for what is no container of plain values. */
function childrenOf(item) {
  if (Array.isArray(item)) return item;
  return item instanceof Pairs && hasDistinctKeys(item) ? item.entries.map(([, value]) => value) : undefined;
}

/** Levels of things below the whole, at most (ruling QA21). */
const MOST_LEVELS = 64;

/** Whether an item is plain through and through, not too deep, and no container holds itself; each is looked at once. */
export function isPlain(root) {
  const settled = new Map();
  const levelsBelow = (item) => childrenOf(item).reduce((most, child) => Math.max(most, 1 + (settled.get(child) ?? 0)), 0);
  const above = new Set();
  const pending = [{ item: root }];
  while (pending.length > 0) {
    const { item, isLeft } = pending.pop();
    if (isLeft) {
      above.delete(item);
      settled.set(item, levelsBelow(item));
      if (settled.get(item) > MOST_LEVELS) return false;
    } else if (!isScalar(item) && !settled.has(item)) {
      const children = above.has(item) ? undefined : childrenOf(item);
      if (children === undefined) return false;
      above.add(item);
      pending.push({ item, isLeft: true });
      for (const child of children) pending.push({ item: child });
    }
  }
  return true;
}

/** Whether two plain values are the same: of the same types; the order of a dict's keys means nothing. */
export function isSamePlain(left, right) {
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, at) => isSamePlain(item, right[at]));
  }
  if (left instanceof Pairs && right instanceof Pairs) {
    if (left.entries.length !== right.entries.length) return false;
    const others = new Map(right.entries.map((entry) => [identityOf(entry[0]), entry]));
    return left.entries.every(([key, value]) => {
      const other = others.get(identityOf(key));
      return other !== undefined && Object.is(key, other[0]) && isSamePlain(value, other[1]);
    });
  }
  return Object.is(left, right);
}
