/** Batch.CollectRows: the walk from each seed row over foreign keys, in both directions (seed 004 §1; BA01 to BA12, BA36, BA37). */
import { defaultFailure } from "../errors.js";
import { list, struct, uint32List, uint64List } from "../wire.js";
import { MOST, configFault, graphFault } from "./faults.js";
import { CONFIG, GRAPH_ROW, GRAPH_SEED } from "./tensors.js";

/** The order of the children of one parent: by RowIdx, or by the hash that a seed decides (rulings BA02, BA36). */
const word = (number) => BigInt.asUintN(64, number);

/** The number that SplitMix64 gives first, begun at this state. */
function mixed(state) {
  let z = word(state + 0x9e3779b97f4a7c15n);
  z = word((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = word((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}

/** The children of every row in the order of the walk, which is by RowIdx for the given ones. */
export function orderChildren(children, seed) {
  if (seed === undefined) return children;
  const start = mixed(seed);
  const count = BigInt(children.length);
  return children.map((found, parent) => {
    const first = BigInt(parent) * count;
    const marked = found.map((child) => ({ child, mark: mixed(start ^ word(first + BigInt(child))) }));
    marked.sort((a, b) => (a.mark < b.mark ? -1 : 1));
    return marked.map(({ child }) => child);
  });
}

const NAME = "Batch.CollectRows";

/** What waits to be visited: what came over a parent goes first, each kind in the order of its coming (BA01). */
class Frontier {
  constructor(row) {
    this.parents = [];
    this.others = [{ row, hops: 0 }];
    this.nextParent = 0;
    this.nextOther = 0;
  }

  /** The next entry; undefined when nothing waits. */
  pop() {
    if (this.nextParent < this.parents.length) return this.parents[this.nextParent++];
    return this.nextOther < this.others.length ? this.others[this.nextOther++] : undefined;
  }
}

/** For each row those that refer to it, each once, by ascending RowIdx (ruling BA02). */
export function childrenOf(rows) {
  const children = rows.map(() => []);
  rows.forEach(({ parents }, child) => {
    for (const parent of new Set(parents)) if (parent !== -1) children[parent].push(child);
  });
  return children;
}

/** A limit as a number; an absent one does not limit. */
const limitOf = (limit) => (limit === undefined ? Infinity : Number(limit));

/** The hops of each row that the seed reaches, by row, in the order of their ids. */
export function walk(rows, children, seed, config) {
  const length = Number(config.sequence_length);
  const [maxHops, width] = [config.max_hops, config.child_width].map(limitOf);
  const maxRows = Math.min(limitOf(config.max_rows), limitOf(config.fixed_rows));
  const isKept = (row) => seed.time === undefined || rows[row].time === undefined || rows[row].time <= seed.time;
  const hopsByRow = new Map();
  const frontier = new Frontier(Number(seed.row));
  let cells = 0;
  while (cells < length) {
    const entry = frontier.pop();
    if (entry === undefined) break;
    if (hopsByRow.has(entry.row)) continue;
    if (hopsByRow.size >= maxRows) break;
    hopsByRow.set(entry.row, entry.hops);
    cells += Number(rows[entry.row].cells);
    const hops = entry.hops + 1;
    if (hops > maxHops) continue;
    for (const row of rows[entry.row].parents) {
      if (row !== -1 && (config.cutoff !== "strict" || isKept(row))) frontier.parents.push({ row, hops });
    }
    const kept = children[entry.row].filter((row) => !hopsByRow.has(row) && isKept(row));
    for (const row of kept.slice(0, width)) frontier.others.push({ row, hops });
  }
  return hopsByRow;
}

function run({ rows, seeds, config }) {
  const fault = configFault(config) ?? graphFault(rows);
  if (fault !== undefined) throw defaultFailure(fault, NAME);
  if (seeds.some(({ row }) => row >= rows.length)) throw defaultFailure("ROW_NOT_FOUND", NAME);
  const children = orderChildren(childrenOf(rows), config.children_seed);
  const walks = seeds.map((seed) => walk(rows, children, seed, config));
  if (walks.some(({ size }) => size > MOST)) throw defaultFailure("LIMIT_EXCEEDED", NAME);
  return {
    row_ids: walks.map((found) => BigUint64Array.from(found.keys(), BigInt)),
    hops: walks.map((found) => Uint32Array.from(found.values())),
  };
}

export const collectRows = {
  name: NAME,
  inputs: struct({ rows: list(GRAPH_ROW), seeds: list(GRAPH_SEED), config: CONFIG }),
  outputs: struct({ row_ids: list(uint64List), hops: list(uint32List) }),
  run,
};
