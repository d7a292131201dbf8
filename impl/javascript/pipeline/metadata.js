/** meta.pkl: what it must hold, and how it is read and written (requirements Q15 to Q24; rulings QA18, QA20). */
import { join } from "node:path";
import { Pairs } from "../cbor.js";
import { kindAt, publish, readRegularFile, removeTree } from "../checkpoint/durable.js";
import { IS_OF_TYPE, fieldOf, isNamedMap } from "../checkpoint/subject.js";
import { readPickle, writePickle } from "./pickle.js";
import { Damaged, Refusal } from "./types.js";

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

/** A value of a call with its maps as dicts; a map with a key that no dict has stays as it is, and is not plain. */
export function withDicts(item) {
  if (Array.isArray(item)) return item.map(withDicts);
  if (!(item instanceof Pairs)) return item;
  const dict = new Dict();
  return item.entries.every(([key, value]) => dict.set(key, withDicts(value))) ? dict : item;
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

/** Levels of things below the whole, and values in it, keys among them, at most (ruling QA21). */
const MOST_LEVELS = 64;
export const MOST_VALUES = 2 ** 21;

/** The levels below a container and the values that it is, each as often as it occurs. */
function measuresOf(item, children, settled) {
  const measures = { levels: 0, values: item instanceof Pairs ? 1 + children.length : 1 };
  for (const child of children) {
    const { levels, values } = settled.get(child) ?? { levels: 0, values: 1 };
    measures.levels = Math.max(measures.levels, 1 + levels);
    measures.values += values;
  }
  return measures;
}

/** Whether an item is plain through and through, not too deep or large, and not in itself; each is looked at once. */
export function isPlain(root) {
  const settled = new Map();
  const above = new Set();
  const pending = [{ item: root }];
  while (pending.length > 0) {
    const { item, isLeft } = pending.pop();
    if (isLeft) {
      above.delete(item);
      const measures = measuresOf(item, childrenOf(item), settled);
      if (measures.levels > MOST_LEVELS || measures.values > MOST_VALUES) return false;
      settled.set(item, measures);
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

const FIELD_NAME = /^[0-9A-Za-z_][-.0-9A-Za-z_]{0,127}$/;
const KEYS = ["name", "dtype", "shape", "role"];
const SIDES_END = 2n ** 32n;
const DTYPES = [
  "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
];

/** Whether an item can be the name of a field: with an ending it must name a file, wherever an archive is unpacked. */
export function isFieldName(item) {
  return typeof item === "string" && FIELD_NAME.test(item);
}

/** Whether an item is an integer above zero. */
function isSize(item) {
  return IS_OF_TYPE.uint64(item) && item > 0n;
}

/** Whether an item can be a side of a sample. */
function isSide(item) {
  return isSize(item) && item < SIDES_END;
}

function fieldSpecOf(item) {
  if (!(item instanceof Pairs)) return undefined;
  const [name, dtype, shape, role] = KEYS.map((key) => fieldOf(item, key));
  if (!isFieldName(name) || !DTYPES.includes(dtype) || !Array.isArray(shape) || !shape.every(isSide)) return undefined;
  if (role === undefined) return { name, dtype, shape };
  return IS_OF_TYPE.string(role) ? { name, dtype, shape, role } : undefined;
}

/** Whether a field of a schema has a key that no rule knows (ruling QA33). */
export function hasUnknownKeys(schema) {
  return (schema ?? []).some(({ entries }) => !entries.every(([key]) => KEYS.includes(key)));
}

/** The fields that an item declares, whatever other keys they have; undefined where it is no schema. */
export function schemaOf(item) {
  if (!Array.isArray(item) || item.length === 0) return undefined;
  const fields = item.map(fieldSpecOf);
  const names = new Set(fields.map((field) => field?.name));
  return fields.includes(undefined) || names.size < fields.length ? undefined : fields;
}

/** Whether two declarations are of one field; the role is only a hint (ruling QA15). */
export function isSameField(left, right) {
  if (left.name !== right.name || left.dtype !== right.dtype || left.shape.length !== right.shape.length) return false;
  return left.shape.every((side, at) => side === right.shape[at]);
}

const FILE = "meta.pkl";
const TEMPORARY = ".tmp-meta.pkl";
const MOST_BYTES = 2 ** 26;
const LARGEST_BATCH = 1n << 20n;
const APPLICABLE_SIZES = new Map([
  ["LM", ["vocab_size", "block_size", "target_size"]],
  ["MLM", ["vocab_size", "block_size", "target_size"]],
  ["CLASSIFICATION", []],
  ["TOKEN_CLASSIFICATION", ["vocab_size", "block_size"]],
  ["SEQUENCE_SCORING", ["block_size"]],
]);
const REQUIRED = ["dataset_name", "batch_size", "batch_schema", "split_info"];
const SIZES = ["batch_size", "vocab_size", "block_size", "target_size"];

/** Whether an item is a map that has every key that is required of its training type, whatever is under them. */
export function hasRequiredKeys(item) {
  const applicable = APPLICABLE_SIZES.get(fieldOf(item, "training_type"));
  return applicable !== undefined && [...REQUIRED, ...applicable].every((key) => fieldOf(item, key) !== undefined);
}

/** The batch size and the schema that an item declares, and whether it has unknown keys; undefined for others. */
export function metadataOf(item) {
  if (!hasRequiredKeys(item) || !isPlain(item)) return undefined;
  const of = (key) => fieldOf(item, key);
  const schema = schemaOf(of("batch_schema"));
  if (!IS_OF_TYPE.string(of("dataset_name")) || of("dataset_name") === "" || schema === undefined) return undefined;
  if (!SIZES.every((name) => of(name) === undefined || isSize(of(name)))) return undefined;
  if (of("batch_size") > LARGEST_BATCH) return undefined;
  if (!["train", "val"].every((split) => fieldOf(of("split_info"), split) instanceof Pairs)) return undefined;
  return { batchSize: of("batch_size"), schema, ignores: hasUnknownKeys(of("batch_schema")) };
}

/** The item that meta.pkl holds; undefined where there is no file of that name; a Refusal where it holds none. */
export function readMetadataItem(root) {
  const path = join(root, FILE);
  if (kindAt(path) === undefined) return undefined;
  const content = readRegularFile(path, MOST_BYTES);
  try {
    if (content === undefined) throw new Damaged("no regular file");
    return readPickle(content);
  } catch (error) {
    throw error instanceof Damaged ? new Refusal("META_INVALID") : error;
  }
}

/** Writes meta.pkl, durably. */
export function writeMetadataItem(root, item) {
  removeTree(join(root, TEMPORARY));
  publish(join(root, FILE), join(root, TEMPORARY), writePickle(item));
}

/** The path of meta.pkl. */
export function metadataPath(root) {
  return join(root, FILE);
}
