// Saves one file the right way, in Node: temporary, fsync, rename, fsync of the folder.
"use strict";
const fs = require("fs");
const path = require("path");

const operators = {
  "Store.Save_v1": ({ root, name, content }) => {
    const temporary = path.join(root, `${name}.tmp`);
    const file = fs.openSync(temporary, "w");
    fs.writeSync(file, Buffer.from(content, "hex"));
    if (process.argv[2] !== "no-fsync") fs.fsyncSync(file);
    fs.closeSync(file);
    fs.renameSync(temporary, path.join(root, name));
    const folder = fs.openSync(root, "r");
    fs.fsyncSync(folder);
    fs.closeSync(folder);
    return { size: String(content.length / 2) };
  },
  "Store.Load_v1": ({ root, name }) => {
    const file = path.join(root, name);
    if (!fs.existsSync(file)) throw new Error("META_MISSING");
    return { content: fs.readFileSync(file).toString("hex") };
  },
};

function answer(request) {
  if (request.method === "tally.hello") {
    return { result: { protocol: 1, name: "node writer", operators: Object.keys(operators), max_in_flight: 8 } };
  }
  try {
    return { result: operators[request.method](request.params) };
  } catch (error) {
    const data = { failure_code: error.message, failure_operator: request.method };
    return { error: { code: 1202, message: error.message, data } };
  }
}

require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const request = JSON.parse(line);
  if (request.method === "tally.bye") process.exit(0);
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: request.id, ...answer(request) })}\n`);
});
