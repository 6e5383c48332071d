const MAX_ROWS = 64;
/** Servers take packets of 4 MB at least by default; a single row that is larger goes alone. */
const MAX_BYTES = 1 << 20;

/**
 * Cuts rows into inserts of bounded size. The numbers of rows are few (1 to 8, 16, 32, 64): a prepared statement stays
 * in the server for each of them.
 */
export function* chunkRows(rows: readonly Buffer[]): Iterable<readonly Buffer[]> {
  let start = 0;
  while (start < rows.length) {
    let count = 0;
    for (let bytes = 0; count < MAX_ROWS && start + count < rows.length; count++) {
      bytes += rows[start + count]?.length ?? 0;
      if (count > 0 && bytes > MAX_BYTES) break;
    }
    if (count > 8) count = 2 ** Math.floor(Math.log2(count));
    yield rows.slice(start, start + count);
    start += count;
  }
}
