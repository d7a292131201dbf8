/** What each stage needs of a container (seed 002 §II.H; requirements C27 to C30; rulings CA18, CA32). */
import { sha256OfCbor } from "../digest.js";
import { compareBytewise } from "../text_order.js";
import { fieldOf } from "./subject.js";

const FOLDERS = new Map([
  ["data_cursors", "data/"],
  ["dp_accountant_state", "dp/"],
  ["model_params", "tensors/"],
  ["optimizer_state", "optimizer/"],
  ["rng_states", "rng/"],
  ["tmmu_plan", "tmmu/"],
]);

/** The components that a stage needs, by name; the header itself is the minimal runtime config. */
export function requiredComponents(stage, manifest, header) {
  if (stage !== "train") return ["minimal_runtime_config", "model_params"];
  const hasPrivacy = manifest.dp_enabled ?? fieldOf(header, "dp_accountant_state_root_hash") !== undefined;
  return [...FOLDERS.keys()].filter((name) => name !== "dp_accountant_state" || hasPrivacy);
}

/** Adds the required components of which no path holds anything. */
export function judgeComponents(required, paths, findings) {
  for (const name of required) {
    const folder = FOLDERS.get(name);
    const isThere = folder === undefined || paths.some((path) => path.startsWith(folder));
    if (!isThere) findings.add(name, "MISSING_COMPONENT");
  }
}

/** The name of what was restored: 16 hex digits over the stage and its components (ruling CA32). */
export function restoreProfileId(stage, components) {
  const sorted = components.toSorted(compareBytewise);
  return sha256OfCbor(["restore_profile", [stage, sorted]]).toString("hex").slice(0, 16);
}
