/** The reverse Cuthill-McKee order of rows that refer to each other (requirement B28; rulings BA24 to BA26). */

/** The rows, ordered so that neighbours stand close together; a key counts in both directions, one to itself never. */
export function rowOrder(rows, refers) {
  const neighbours = new Map(
    rows.map((row) => [row, rows.filter((other) => other !== row && (refers(row, other) || refers(other, row)))]),
  );
  const byDegree = (one, other) => neighbours.get(one).length - neighbours.get(other).length || one - other;
  const marked = new Set();
  const order = [];
  for (const start of rows.toSorted(byDegree)) {
    if (marked.has(start)) continue;
    marked.add(start);
    const queue = [start];
    for (const row of queue) {
      order.push(row);
      for (const neighbour of neighbours.get(row).toSorted(byDegree)) {
        if (marked.has(neighbour)) continue;
        marked.add(neighbour);
        queue.push(neighbour);
      }
    }
  }
  return order.reverse();
}
