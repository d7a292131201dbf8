/** JSON as batch files hold it: ASCII without blanks, integers of any size (requirement Q05). */
import { Damaged } from "./types.js";

const TOKEN = /"(?:[^"\\]|\\.)*"|-?[0-9][-+.0-9eE]*/gs;
const INTEGER = /^-?(?:0|[1-9][0-9]*)$/;
const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$/;

const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** The JSON text of objects, arrays, texts and BigInts; keys stand in the order of the object. */
export function writeJson(item) {
  if (typeof item === "bigint") return String(item);
  if (typeof item === "string") return JSON.stringify(item).replace(/[^ -~]/g, escaped);
  if (Array.isArray(item)) return `[${item.map(writeJson).join()}]`;
  const members = Object.entries(item).map(([key, value]) => `${writeJson(key)}:${writeJson(value)}`);
  return `{${members.join()}}`;
}

function numberOf(text) {
  if (INTEGER.test(text)) return BigInt(text);
  if (!NUMBER.test(text)) throw new Damaged("no number");
  return Number(text);
}

/** What a marked text stands for. */
function unmarked(marked) {
  return marked[0] === "t" ? marked.slice(1) : numberOf(marked.slice(1));
}

/** Gives objects as Maps, so that no key means more than another. */
function revive(key, held) {
  if (typeof held === "string") return unmarked(held);
  if (held === null || typeof held !== "object" || Array.isArray(held)) return held;
  const entries = Object.entries(held);
  if (!entries.every(([name]) => name[0] === "t")) throw new Damaged("a key that is no text");
  return new Map(entries.map(([name, value]) => [name.slice(1), value]));
}

/**
 * The item of a JSON text: objects are Maps, integers BigInts; raises Damaged for what is no JSON.
 *
 * JSON.parse rounds integers, so every number is handed to it as a text, and texts are marked to be told from them.
 */
export function readJson(text) {
  const mark = (token) => (token[0] === '"' ? `"t${token.slice(1)}` : `"n${token}"`);
  try {
    return JSON.parse(text.replace(TOKEN, mark), revive);
  } catch (error) {
    if (error instanceof Damaged || error instanceof SyntaxError || error instanceof RangeError) {
      throw new Damaged("no JSON");
    }
    throw error;
  }
}
