/** A batch file: metadata.json, and one array for every field (requirements Q05, Q06; rulings QA14, QA15). */
import { isUtf8 } from "node:buffer";
import { Pairs } from "../cbor.js";
import { IS_OF_TYPE } from "../checkpoint/subject.js";
import { readJson, writeJson } from "./json.js";
import { readArray, writeArray } from "./npy.js";
import { Damaged } from "./refusal.js";
import { isFieldName, isSameField, schemaOf } from "./schema.js";
import { readArchive, writeArchive } from "./zip.js";

const METADATA = "metadata.json";
const ARRAY = ".npy";
const NUMBERS = ["batch_size", "num_batches", "file_idx", "produced_at"];
const KEYS = [...NUMBERS, "split", "schema"];

/** The bytes of a file; the metadata has its keys in the seed's order, the tensors those of the schema. */
export function writeBatchFile(metadata, tensors) {
  const members = metadata.schema.map(({ name }, at) => ({ name: name + ARRAY, content: writeArray(tensors[at]) }));
  return writeArchive([{ name: METADATA, content: Buffer.from(writeJson(metadata), "latin1") }, ...members]);
}

/** A JSON item as the items of metadata are judged. */
function pairsOf(item) {
  if (Array.isArray(item)) return item.map(pairsOf);
  return item instanceof Map ? new Pairs([...item].map(([key, value]) => [key, pairsOf(value)])) : item;
}

/** What a file says of itself; raises Damaged where a key is missing, unknown or of another type (ruling QA33). */
function readFileMetadata(content) {
  const item = isUtf8(content) ? readJson(content.toString()) : undefined;
  if (!(item instanceof Map)) throw new Damaged("the metadata are no object");
  if (![...item.keys()].every((key) => KEYS.includes(key))) throw new Damaged("a key of the metadata is unknown");
  const isTyped = NUMBERS.every((key) => typeof item.get(key) === "bigint" && item.get(key) >= 0n);
  const schema = schemaOf(pairsOf(item.get("schema")));
  if (!isTyped || !IS_OF_TYPE.string(item.get("split")) || schema === undefined) {
    throw new Damaged("a key of the metadata is missing or ill-typed");
  }
  return { batches: item.get("num_batches"), schema };
}

/** The tensors by field, and their one number of rows. */
function readTensors(members) {
  const tensors = new Map();
  for (const { name, content } of members) {
    const field = name.slice(0, -ARRAY.length);
    if (!name.endsWith(ARRAY) || !isFieldName(field)) throw new Damaged(`a member ${name}`);
    tensors.set(field, readArray(content));
  }
  const counts = new Set([...tensors.values()].map(({ shape }) => shape[0]));
  const [rowCount] = counts;
  if (counts.size !== 1 || rowCount === undefined || rowCount === 0) throw new Damaged("no one number of rows");
  return { tensors, rowCount };
}

/** Whether the tensors of a file are exactly the fields of a schema, and its own schema, if it has one, as well. */
function matches({ tensors, metadata }, schema) {
  const own = metadata?.schema ?? schema;
  if (own.length !== schema.length || !own.every((field, at) => isSameField(field, schema[at]))) return false;
  return tensors.size === schema.length && schema.every(({ name, dtype, shape }) => {
    const tensor = tensors.get(name);
    const found = tensor && { name, dtype: tensor.dtype, shape: tensor.shape.slice(1).map(BigInt) };
    return found !== undefined && isSameField(found, { name, dtype, shape });
  });
}

/**
 * What a file holds: its number of batches where it says so, its rows, its tensors, and whether they are of a schema.
 *
 * Raises Damaged for what is no batch file; what one of the baseline says of itself is not looked at (requirement Q44).
 */
export function readBatchFile(content, schema, isLegacy) {
  const members = readArchive(content);
  const described = members.find(({ name }) => name === METADATA);
  if (described === undefined && !isLegacy) throw new Damaged("no metadata");
  const metadata = isLegacy ? undefined : readFileMetadata(described.content);
  const { tensors, rowCount } = readTensors(members.filter((member) => member !== described));
  return { batches: metadata?.batches, rowCount, tensors, isOfSchema: matches({ tensors, metadata }, schema) };
}
