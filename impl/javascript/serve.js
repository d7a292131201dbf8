#!/usr/bin/env node
/** The backend's process: reads requests on stdin, answers on stdout, ends with tally.bye or the end of stdin. */
import { once } from "node:events";
import { handle, lostFrame } from "./dispatch.js";
import { FramingError, wireFor } from "./wire.js";

// Small answers to one chunk of requests leave together; a large one does not wait for the others.
const FLUSH_BYTES = 1 << 16;

/** Collects answers and writes them in as few writes as possible, waiting while the reader is behind. */
class Outbox {
  constructor(output) {
    this.output = output;
    this.answers = [];
    this.size = 0;
  }

  async send(answer) {
    this.answers.push(answer);
    this.size += answer.length;
    if (this.size >= FLUSH_BYTES) await this.flush();
  }

  /** Sends an answer that is still to come, whenever it comes. */
  async sendLater(promised) {
    await this.send(await promised);
    await this.flush();
  }

  async flush() {
    if (this.size === 0) return;
    const accepted = this.output.write(Buffer.concat(this.answers));
    this.answers = [];
    this.size = 0;
    if (!accepted) await once(this.output, "drain");
  }
}

/** Answers every frame; true if one of them said bye. */
async function answerAll(wire, frames, outbox) {
  for (const frame of frames) {
    const { answer, last } = handle(wire, frame);
    if (answer instanceof Promise) outbox.sendLater(answer);
    else if (answer !== undefined) await outbox.send(answer);
    if (last) return true;
  }
  return false;
}

/** Serves one conversation and returns the exit status. */
async function serve(input, output) {
  const outbox = new Outbox(output);
  let wire;
  try {
    for await (const chunk of input) {
      wire ??= wireFor(chunk[0]);
      if (await answerAll(wire, wire.frames.push(chunk), outbox)) return 0;
      await outbox.flush();
    }
    if (wire !== undefined) await answerAll(wire, wire.frames.end(), outbox);
    return 0;
  } catch (error) {
    if (!(error instanceof FramingError)) throw error;
    await outbox.send(lostFrame(wire, error));
    return 1;
  } finally {
    await outbox.flush();
  }
}

process.exitCode = await serve(process.stdin, process.stdout);
