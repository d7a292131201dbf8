/** The order of the children of one parent: by RowIdx, or by the hash that a seed decides (rulings BA02, BA36). */

const word = (number) => BigInt.asUintN(64, number);

/** The number that SplitMix64 gives first, begun at this state. */
function mixed(state) {
  let z = word(state + 0x9e3779b97f4a7c15n);
  z = word((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = word((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}

/** The children of every row in the order of the walk, which is by RowIdx for the given ones. */
export function orderChildren(children, seed) {
  if (seed === undefined) return children;
  const start = mixed(seed);
  const count = BigInt(children.length);
  return children.map((found, parent) => {
    const first = BigInt(parent) * count;
    const marked = found.map((child) => ({ child, mark: mixed(start ^ word(first + BigInt(child))) }));
    marked.sort((a, b) => (a.mark < b.mark ? -1 : 1));
    return marked.map(({ child }) => child);
  });
}
