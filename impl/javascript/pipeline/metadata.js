/** meta.pkl: what it must hold, and how it is read and written (requirements Q15 to Q24; rulings QA18, QA20). */
import { join } from "node:path";
import { Pairs } from "../cbor.js";
import { kindAt, publish, readRegularFile, removeTree } from "../checkpoint/durable.js";
import { IS_OF_TYPE, fieldOf } from "../checkpoint/subject.js";
import { isPlain } from "./plain_value.js";
import { readPickle } from "./read_pickle.js";
import { Damaged, Refusal } from "./refusal.js";
import { isSize, schemaOf } from "./schema.js";
import { writePickle } from "./write_pickle.js";

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

/** The batch size and the schema that an item declares; undefined where it is no metadata. */
export function metadataOf(item) {
  if (!hasRequiredKeys(item) || !isPlain(item)) return undefined;
  const of = (key) => fieldOf(item, key);
  const schema = schemaOf(of("batch_schema"));
  if (!IS_OF_TYPE.string(of("dataset_name")) || of("dataset_name") === "" || schema === undefined) return undefined;
  if (!SIZES.every((name) => of(name) === undefined || isSize(of(name)))) return undefined;
  if (of("batch_size") > LARGEST_BATCH) return undefined;
  if (!["train", "val"].every((split) => fieldOf(of("split_info"), split) instanceof Pairs)) return undefined;
  return { batchSize: of("batch_size"), schema };
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

/** Where meta.pkl stands. */
export function metadataPath(root) {
  return join(root, FILE);
}
