/** One finite part whose full slices come in a drawn order, the short tail last (requirement S29; ruling SA17). */
import { encodeCanonical } from "../cbor.js";
import { blockOrder } from "../data/seeded_block_permute.js";
import { sha256OfCbor } from "../digest.js";
import { SLICE, SlicedSource, cut } from "./slice.js";

export class ShuffledSource extends SlicedSource {
  constructor(part, declaration) {
    super(part.length, declaration);
    this.part = part;
    this.seed = declaration.seed;
    this.orders = new Map();
  }

  slicesOver(pass, from, to) {
    const slices = [];
    const order = this.orderOf(pass);
    for (let start = from - (from % SLICE); start < to; start += SLICE) {
      const slot = start / SLICE;
      const first = SLICE * (slot < order.length ? BigInt(order[Number(slot)]) : slot);
      const last = first + SLICE < this.length ? first + SLICE : this.length;
      slices.push(cut({ source: this.part, pass: 0n, from: first, to: last }, start, from, to));
    }
    return slices;
  }

  randomState(pass) {
    return encodeCanonical([this.seed, pass]);
  }

  orderOf(pass) {
    const known = this.orders.get(pass);
    if (known !== undefined) return known;
    const full = Number(this.length / SLICE);
    const drawn = pass === 0n ? this.seed : sha256OfCbor(["stream_shuffle", this.seed, pass]).subarray(0, 16);
    const order = full === 0 ? [] : blockOrder(full, drawn);
    this.orders = new Map([[pass, order]]);
    return order;
  }

  close() {
    this.part.close();
  }
}
