const WILDCARD = /[*?\\]/;

/**
 * The names that `name` may have been meant for: at most 3, the nearest first. Of a pattern only what stands before its
 * first wildcard is compared, with how names begin. Upper and lower case count alike.
 */
export function nearNames(name: string, known: Iterable<string>): readonly string[] {
  const end = name.search(WILDCARD);
  const wanted = (end < 0 ? name : name.slice(0, end)).toLowerCase();
  // One slip for every four characters, and never more than two: beyond that names are different on purpose.
  const most = Math.min(2, Math.floor(wanted.length / 4));
  return [...known]
    .map((candidate) => {
      const compared = candidate.toLowerCase();
      return {
        candidate,
        distance: distanceOf(wanted, end < 0 ? compared : compared.slice(0, wanted.length)),
      };
    })
    .filter(({ distance }) => distance <= most)
    .sort((left, right) => left.distance - right.distance)
    .slice(0, 3)
    .map(({ candidate }) => candidate);
}

/**
 * How many characters must be left out, put in, exchanged or swapped with their neighbor to make one text of the other:
 * the optimal string alignment distance.
 */
function distanceOf(left: string, right: string): number {
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const isSame = left[row - 1] === right[column - 1];
      const isSwap = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      current[column] = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
        isSwap ? at(beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    beforeLast = last;
    last = current;
  }
  return at(last, right.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
