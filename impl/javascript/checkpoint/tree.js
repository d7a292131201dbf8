/** What a container holds on disk, found without following a link. */
import { readdirSync } from "node:fs";
import { join } from "node:path";

// The layout is three levels deep; what lies deeper is in no manifest and need not be counted out.
const MAX_LEVELS = 3;

/** The files by path, and the `others`: links, devices and folders deeper than any container's. */
export function listTree(root) {
  const files = new Set();
  const others = new Set();
  const pending = [{ prefix: "", level: 1 }];
  while (pending.length > 0) {
    const { prefix, level } = pending.pop();
    for (const entry of readdirSync(join(root, prefix), { withFileTypes: true })) {
      const path = `${prefix}${entry.name}`;
      if (entry.isFile()) files.add(path);
      else if (entry.isDirectory() && level < MAX_LEVELS) pending.push({ prefix: `${path}/`, level: level + 1 });
      else others.add(path);
    }
  }
  return { files, others };
}
