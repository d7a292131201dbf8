/** The fields of a batch: name, dtype, shape of a sample, perhaps a role (requirement Q07). */
import { IS_OF_TYPE, fieldOf, isNamedMap } from "../checkpoint/subject.js";

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
export function isSize(item) {
  return IS_OF_TYPE.uint64(item) && item > 0n;
}

/** Whether an item can be a side of a sample. */
function isSide(item) {
  return isSize(item) && item < SIDES_END;
}

function fieldSpecOf(item) {
  if (!isNamedMap(item) || !item.entries.every(([key]) => KEYS.includes(key))) return undefined;
  const [name, dtype, shape, role] = KEYS.map((key) => fieldOf(item, key));
  if (!isFieldName(name) || !DTYPES.includes(dtype) || !Array.isArray(shape) || !shape.every(isSide)) return undefined;
  if (role === undefined) return { name, dtype, shape };
  return IS_OF_TYPE.string(role) ? { name, dtype, shape, role } : undefined;
}

/** The fields that an item declares; undefined where it is no schema. */
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
