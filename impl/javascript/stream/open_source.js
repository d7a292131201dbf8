/** From the declaration of a source to the source, or to the refusal of it. */
import { InteractiveSource } from "./interactive_source.js";
import { InterleavedSource } from "./interleaved_source.js";
import { ShuffledSource } from "./shuffled_source.js";
import { FiledTokens, GivenTokens } from "./stored_source.js";
import { openTokenFile } from "./token_file.js";

/** Whether offsets never descend. */
function isSorted(offsets) {
  return offsets.every((offset, at) => at === 0 || offsets[at - 1] <= offset);
}

function holdsTokens({ kind, path, tokens, boundaries = [] }) {
  return (kind === "file" ? path : tokens) !== undefined && isSorted(boundaries);
}

/** Whether a declaration says everything that its kind has to say, as far as no file decides it. */
export function isComplete(declaration) {
  const { kind, seed, parts = [], pattern = [], boundaries = [], on_end: onEnd } = declaration;
  if (kind === "interactive") return onEnd === "stop" && boundaries.length === 0;
  if (kind === "interleaved") {
    const isInRange = pattern.length > 0 && pattern.every((index) => index < parts.length);
    return isInRange && parts.every(holdsTokens);
  }
  if (kind === "shuffled") return seed !== undefined && parts.length === 1 && parts.every(holdsTokens);
  return holdsTokens(declaration);
}

function openStored(declaration, root) {
  return declaration.kind === "file"
    ? new FiledTokens(openTokenFile(root, declaration), declaration)
    : new GivenTokens(declaration);
}

/** Opens a complete declaration; raises UnusableFile, and leaves no file open then. */
export function openSource(declaration, root) {
  if (declaration.kind === "interactive") return new InteractiveSource();
  if (declaration.kind !== "interleaved" && declaration.kind !== "shuffled") return openStored(declaration, root);
  const parts = [];
  try {
    for (const part of declaration.parts) parts.push(openStored(part, root));
  } catch (error) {
    for (const part of parts) part.close();
    throw error;
  }
  return declaration.kind === "shuffled"
    ? new ShuffledSource(parts[0], declaration)
    : new InterleavedSource(parts, declaration);
}
