import type { Workspace } from '../../workspace/workspace.js';

const CHUNK_BYTES = 1 << 20;
const NEWLINE = 10;

/** A line of a file, without its end. */
export interface Line {
  readonly bytes: Buffer;
  /** Where it begins in the file. */
  readonly offset: number;
}

/**
 * The complete lines of a file from `offset` on, read in parts. What stands behind the last line break is left out: it
 * is torn, or still being written.
 */
export async function* readLines(
  workspace: Pick<Workspace, 'read'>,
  path: string,
  offset = 0,
): AsyncIterable<Line> {
  let parts: Buffer[] = [];
  let lineOffset = offset;
  for (let position = offset; ; ) {
    const chunk = Buffer.from(await workspace.read(path, { offset: position, length: CHUNK_BYTES }));
    if (chunk.length === 0) return;
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      parts.push(chunk.subarray(start, end));
      yield { bytes: Buffer.concat(parts), offset: lineOffset };
      parts = [];
      start = end + 1;
      lineOffset = position + start;
    }
    parts.push(chunk.subarray(start));
    position += chunk.length;
  }
}
