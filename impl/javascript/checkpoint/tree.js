/** What a container holds on disk, found without following a link. */
import { readdirSync } from "node:fs";
import { join } from "node:path";

/** The files by path, and the `others`: links, pipes and devices; undefined beyond a number of entries. */
export function listTree(root, mostEntries) {
  const files = new Set();
  const others = new Set();
  const pending = [""];
  let count = 0;
  while (pending.length > 0) {
    const prefix = pending.pop();
    for (const entry of readdirSync(join(root, prefix), { withFileTypes: true })) {
      count += 1;
      if (count > mostEntries) return undefined;
      const path = `${prefix}${entry.name}`;
      if (entry.isFile()) files.add(path);
      else if (entry.isDirectory()) pending.push(`${path}/`);
      else others.add(path);
    }
  }
  return { files, others };
}
