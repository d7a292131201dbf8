/** Files of torch.save, without torch: an archive with a pickle of values and tensors, and their bytes beside it. */
import { bytesOf } from "../batch/tensors.js";
import { Dict } from "./metadata.js";
import { pickleOf, pickledPart, readKnown } from "./pickle.js";
import { Damaged, Foreign } from "./types.js";

const PREFIX = "archive/";
const PICKLE = "data.pkl";
const STORAGES = "data/";
const MOST_OPCODES = 2 ** 20;
// What torch wrote before version 1.6 begins so: no archive, but several pickles one after the other.
const OLD_FORM = Buffer.from("80028a0a6cfc9c46f9206aa850192e", "hex");

// The storages that know their dtype; those of the unsigned dtypes above one byte do not.
const STORAGE_NAMES = new Map([
  ["bool", "BoolStorage"], ["uint8", "ByteStorage"], ["int8", "CharStorage"], ["int16", "ShortStorage"],
  ["int32", "IntStorage"], ["int64", "LongStorage"], ["float16", "HalfStorage"], ["float32", "FloatStorage"],
  ["float64", "DoubleStorage"],
]);
const OTHERS = new Map([
  ["bfloat16", "BFloat16Storage"], ["complex64", "ComplexFloatStorage"], ["complex128", "ComplexDoubleStorage"],
]);
const DTYPES = new Map([...STORAGE_NAMES, ...OTHERS].map(([dtype, storage]) => [storage, dtype]));
const NAMED_DTYPES = new Set([...STORAGE_NAMES.keys(), ...OTHERS.keys(), "uint16", "uint32", "uint64"]);

/** What represents a class or a function that a pickle names. */
class Known {
  constructor(make) {
    Object.assign(this, { make });
  }
}

class StorageKind extends Known {
  constructor(dtype) {
    super();
    Object.assign(this, { dtype });
  }
}

class ElementType extends Known {
  constructor(name) {
    super();
    Object.assign(this, { name });
  }
}

class Storage {
  constructor(key, dtype) {
    Object.assign(this, { key, dtype });
  }
}

/** A tensor as the pickle describes it: a part of a storage. */
export class Placed {
  constructor(storage, offset, shape, strides, dtype) {
    Object.assign(this, { storage, offset, shape, strides, dtype });
  }
}

const isCount = (item) => typeof item === "bigint" && item >= 0n;
const isShape = (item) => Array.isArray(item) && item.every(isCount);

function must(isTrue, what) {
  if (!isTrue) throw new Damaged(what);
}

function rebuilt([storage, offset, shape, strides], dtype) {
  must(storage instanceof Storage && isCount(offset) && isShape(shape) && isShape(strides), "no tensor");
  must(shape.length === strides.length && NAMED_DTYPES.has(dtype), "no tensor of a dtype");
  return new Placed(storage, offset, shape, strides, dtype);
}

const dtypeNamed = (item) => (item instanceof ElementType ? item.name : undefined);

const NAMES = new Map([
  ["collections OrderedDict", new Known((given) => {
    must(given.length === 0, "a dict made of something");
    return new Dict();
  })],
  ["torch Size", new Known(([sizes, ...more]) => {
    must(isShape(sizes) && more.length === 0, "no shape");
    return sizes;
  })],
  ["torch.storage UntypedStorage", new StorageKind()],
  ["torch._utils _rebuild_tensor_v2", new Known((given) => rebuilt(given, given[0]?.dtype))],
  ["torch._utils _rebuild_tensor_v3", new Known((given) => rebuilt(given, dtypeNamed(given[6])))],
]);

const KNOWN = {
  name(module, name) {
    if (module === "torch" && DTYPES.has(name)) return new StorageKind(DTYPES.get(name));
    if (module === "torch" && NAMED_DTYPES.has(name)) return new ElementType(name);
    const known = NAMES.get(`${module} ${name}`);
    if (known !== undefined) return known;
    // A part of torch is a real file; everything else that can be named is an attack.
    const Kind = module.split(".")[0] === "torch" ? Foreign : Damaged;
    throw new Kind(`it names ${module}.${name}`);
  },
  outside(told) {
    must(Array.isArray(told) && told.length === 5 && told[0] === "storage", "it refers to no storage");
    must(told[1] instanceof StorageKind && typeof told[2] === "string" && isCount(told[4]), "it describes no storage");
    return new Storage(told[2], told[1].dtype);
  },
};

/** Whether bytes begin like a file of a torch before version 1.6. */
export function isOldForm(content) {
  return content.subarray(0, OLD_FORM.length).equals(OLD_FORM);
}

/** The saved value of an archive's members, its tensors as Placed, and the storages' bytes by key; Damaged, Foreign. */
export function readSaved(members) {
  const found = members.filter(({ name }) => name.endsWith(`/${PICKLE}`) && name.split("/").length === 2);
  must(found.length === 1, "not one pickle");
  const prefix = found[0].name.slice(0, -PICKLE.length);
  const order = members.find(({ name }) => name === `${prefix}byteorder`);
  if (order !== undefined && order.content.toString("latin1") !== "little") throw new Foreign("not little-endian");
  const start = prefix + STORAGES;
  const stored = members.filter(({ name }) => name.startsWith(start));
  const storages = new Map(stored.map(({ name, content }) => [name.slice(start.length), content]));
  return { saved: readKnown(found[0].content, KNOWN, MOST_OPCODES), storages };
}

function isContiguous({ shape, strides }) {
  let expected = 1n;
  for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
    if (shape[axis] !== 1n && strides[axis] !== expected) return false;
    expected *= shape[axis];
  }
  return true;
}

/** The tensor that is described, cut out of its storage; Damaged, Foreign. */
export function tensorAt(placed, storages) {
  if (!STORAGE_NAMES.has(placed.dtype) && !placed.dtype.startsWith("uint")) throw new Foreign(placed.dtype);
  if (placed.shape.length === 0 || !isContiguous(placed)) throw new Foreign("no batch axis, or not contiguous");
  const data = storages.get(placed.storage.key);
  const width = BigInt(bytesOf(placed.dtype));
  const start = placed.offset * width;
  const end = start + placed.shape.reduce((product, side) => product * side, width);
  must(data !== undefined && end <= BigInt(data.length), "more elements than the storage has");
  const content = data.subarray(Number(start), Number(end));
  return { dtype: placed.dtype, shape: placed.shape.map(Number), data: content };
}

const text = (string) => Buffer.from(string, "latin1");
const tuple = (items) => Buffer.concat([text("("), ...items.map(pickledPart), text("t")]);

function pickledTensor(key, { dtype, shape, data }) {
  const sides = shape.map(BigInt);
  const isUntyped = !STORAGE_NAMES.has(dtype);
  const storage = isUntyped ? "torch.storage\nUntypedStorage" : `torch\n${STORAGE_NAMES.get(dtype)}`;
  const count = sides.reduce((product, side) => product * side, isUntyped ? BigInt(bytesOf(dtype)) : 1n);
  const strides = sides.map((_, axis) => sides.slice(axis + 1).reduce((product, side) => product * side, 1n));
  return Buffer.concat([
    text(`ctorch._utils\n_rebuild_tensor_v${isUntyped ? 3 : 2}\n((`),
    pickledPart("storage"),
    text(`c${storage}\n`),
    ...[key, "cpu", count].map(pickledPart),
    text("tQ"),
    pickledPart(0n),
    tuple(sides),
    tuple(strides),
    text("\x89ccollections\nOrderedDict\n)R"),
    text(isUntyped ? `ctorch\n${dtype}\n` : ""),
    text("tR"),
  ]);
}

/** The members of the archive that torch.load reads, of metadata and tensors `{name, dtype, shape, data}`. */
export function membersOf(metadata, tensors) {
  const named = tensors.flatMap((tensor, at) => [pickledPart(tensor.name), pickledTensor(String(at), tensor)]);
  const value = Buffer.concat([
    text("}("), pickledPart("metadata"), pickledPart(metadata),
    pickledPart("tensors"), text("}("), ...named, text("uu"),
  ]);
  return [
    { name: PREFIX + PICKLE, content: pickleOf(value) },
    { name: `${PREFIX}byteorder`, content: text("little") },
    ...tensors.map(({ data }, at) => ({ name: `${PREFIX}${STORAGES}${at}`, content: data })),
    { name: `${PREFIX}version`, content: text("3\n") },
  ];
}
