/**
 * The two wires: JSON lines and a CBOR sequence, with one interface.
 *
 * `frames` cuts the input; `parse` makes a message of a frame; `read` and `write` carry a value of a declared type
 * across; `message` makes the bytes of an answer.
 */
import { isUtf8 } from "node:buffer";
import { Pairs, decodeMessage, encode } from "./cbor.js";
import { ItemFrames, LineFrames } from "./framing.js";

/** JSON-RPC 2.0, one message per line, UTF-8. */
class JsonWire {
  constructor() {
    this.frames = new LineFrames();
  }

  parse(line) {
    if (!isUtf8(line)) throw new SyntaxError("the line is not UTF-8");
    return JSON.parse(line.toString());
  }

  read(type, form) {
    return type.fromJson(form);
  }

  write(type, value) {
    return type.toJson(value);
  }

  message(envelope) {
    return Buffer.from(`${JSON.stringify(envelope)}\n`);
  }
}

/** The same messages as CBOR items, one after the other. */
class CborWire {
  constructor() {
    this.frames = new ItemFrames();
  }

  parse(item) {
    const message = decodeMessage(item);
    return message instanceof Pairs ? Object.fromEntries(message.entries) : message;
  }

  read(type, form) {
    return type.fromCbor(form);
  }

  write(type, value) {
    return type.toCbor(value);
  }

  message(envelope) {
    return encode(envelope);
  }
}

/** Chooses the wire by the first byte that the harness sends: the head of a CBOR map, or anything else for JSON. */
export function wireFor(firstByte) {
  return firstByte >= 0xa0 && firstByte <= 0xbf ? new CborWire() : new JsonWire();
}
