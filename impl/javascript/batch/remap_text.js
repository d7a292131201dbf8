/** Batch.RemapText: the texts of a batch under dense ids, each embedding once (seed 004 §6; rulings BA20 to BA22). */
import { DEFAULT_FAILURE, defaultFailure } from "../errors.js";
import { struct, tensor } from "../wire.js";
import { elements, isShapedLike, partsOf, tensorOf } from "./tensors.js";

const NAME = "Batch.RemapText";
const TEXT = 5;

/** The batch-local ids, and the embeddings that they index. */
export function remap(inputs, operator) {
  const { text_embed_ids: globalIds, semantic_types: types, is_null: nulls, is_padding: paddings } = inputs;
  const embeddings = inputs.text_embeddings;
  const isOneShape = [types, nulls, paddings].every((tensorOfCells) => isShapedLike(tensorOfCells, globalIds));
  if (globalIds.shape.length !== 2 || !isOneShape || embeddings.shape.length !== 2) {
    throw defaultFailure("CONTRACT_VIOLATION", operator);
  }
  const [codes, areNull, arePadding] = [types, nulls, paddings].map(elements);
  const isText = (position) => codes[position] === TEXT && !areNull[position] && !arePadding[position];
  const texts = elements(globalIds);
  const isUnknown = (text, position) => isText(position) && text >= embeddings.shape[0];
  if (texts.some(isUnknown)) throw defaultFailure("CONTRACT_VIOLATION", operator);
  const localIds = new Map();
  const local = texts.map((text, position) => {
    if (!isText(position)) return 0;
    if (!localIds.has(text)) localIds.set(text, localIds.size);
    return localIds.get(text);
  });
  const rows = partsOf(embeddings);
  const gathered = [...localIds.keys()].flatMap((text) => [...rows[text]]);
  return {
    text_embed_ids: tensorOf("uint32", globalIds.shape, local),
    text_batch_embeddings: tensorOf("float16", [localIds.size, embeddings.shape[1]], gathered),
  };
}

export const remapText = {
  name: NAME,
  inputs: struct({
    text_embed_ids: tensor,
    semantic_types: tensor,
    is_null: tensor,
    is_padding: tensor,
    text_embeddings: tensor,
  }),
  outputs: struct({ text_embed_ids: tensor, text_batch_embeddings: tensor }),
  failure: DEFAULT_FAILURE,
  run: (inputs) => remap(inputs, NAME),
};
