import { defineTool, type Tool, type Workspace } from '@x/core';
import { headOf } from '@x/core/internal';
import * as z from 'zod';
import type { WorkspaceToolsSettings } from './workspace-tools-config.js';

/**
 * Creates `read_file`. It pages by lines and by characters within a line, so that a file with one endless line can be
 * read in parts.
 */
export function readFileTool({ defaultLines, maxReadChars }: WorkspaceToolsSettings): Tool {
  return defineTool({
    name: 'read_file',
    description:
      `Reads a text file, at most ${defaultLines} lines and ${maxReadChars} characters at a time. The first line of the ` +
      'result says which part it shows and how to read on.',
    readOnly: true,
    paged: true,
    paths: { path: 'read' },
    input: z.strictObject({
      path: z.string().min(1),
      offset: z.int().min(1).default(1).describe('The first line to read, counted from 1'),
      limit: z.int().min(1).default(defaultLines).describe('How many lines to read'),
      charOffset: z.int().min(0).default(0).describe('Characters to skip in the first line'),
    }),
    async execute({ path, offset, limit, charOffset }, { workspace, signal }) {
      const part = await readPart(decodedChunks(workspace, path, signal), {
        offset,
        charOffset,
        limit,
        maxChars: maxReadChars,
      });
      const { total, seen } = part;
      if (total !== undefined && offset > total)
        return `[${path} has ${total} lines; there is no line ${offset}]`;

      const page = takeLines(
        part.text.split('\n').slice(0, Math.min(limit, seen - offset + 1)),
        maxReadChars,
      );
      const last = offset + page.lines - 1;
      const where = `${path}, lines ${offset}–${last} of ${total ?? `${seen} or more`}`;
      if (page.cutAt !== undefined) {
        const from = page.lines === 1 ? charOffset : 0;
        const next = from + page.cutAt;
        return `[${where}; line ${last} is cut at character ${next}: go on with offset ${last}, charOffset ${next}]\n${page.text}`;
      }
      const more = total === undefined || last < total ? `; go on with offset ${last + 1}` : '';
      return `[${where}${more}]\n${page.text}`;
    },
  });
}

/** Bytes per read. */
const CHUNK = 2 ** 20;
/** Limit in characters for counting the lines of a file beyond the requested page. */
const COUNTED = 8 * CHUNK;

/** Reads a file as text in chunks. */
async function* decodedChunks(
  workspace: Workspace,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for (let offset = 0; ; offset += CHUNK) {
    signal.throwIfAborted();
    const bytes = await workspace.read(path, { offset, length: CHUNK });
    const isLast = bytes.length < CHUNK;
    yield decoder.decode(bytes, { stream: !isLast });
    if (isLast) return;
  }
}

interface PartOptions {
  /** The first line, from 1, and the number of its characters to skip. */
  readonly offset: number;
  readonly charOffset: number;
  /** Maximum number of lines and characters. */
  readonly limit: number;
  readonly maxChars: number;
}

/**
 * Reads text from a given line, slightly more than requested. Holds one chunk and that text in memory.
 *
 * @returns the text, the number of lines seen, and the total number of lines if the end was reached.
 */
async function readPart(
  chunks: AsyncIterable<string>,
  { offset, charOffset, limit, maxChars }: PartOptions,
): Promise<{ readonly text: string; readonly seen: number; readonly total?: number }> {
  let line = 1;
  let skip = charOffset;
  let text = '';
  let chars = 0;
  let isOpen = true;
  for await (const chunk of chunks) {
    const isFull = line >= offset + limit || text.length > maxChars + 1;
    if (isFull && chars >= COUNTED && chunk !== '') return { text, seen: line };
    for (let at = 0; at < chunk.length; ) {
      const newline = chunk.indexOf('\n', at);
      const end = newline < 0 ? chunk.length : newline;
      const isWanted = line >= offset && line < offset + limit && text.length <= maxChars + 1;
      if (isWanted) {
        const from = Math.min(end, at + skip);
        skip = newline < 0 ? skip - (from - at) : 0;
        text += chunk.slice(from, Math.min(end, from + maxChars + 2));
        if (newline >= 0) text += '\n';
      }
      if (newline >= 0) line++;
      isOpen = newline < 0;
      at = end + 1;
    }
    chars += chunk.length;
  }
  const total = isOpen || line === 1 ? line : line - 1;
  return { text, seen: total, total };
}

/** Returns as many whole lines as fit. If the first line alone is too long, returns its beginning. */
function takeLines(
  lines: readonly string[],
  maxChars: number,
): { readonly text: string; readonly lines: number; readonly cutAt?: number } {
  const [first = ''] = lines;
  if (first.length > maxChars) {
    const text = headOf(first, maxChars);
    return { text, lines: 1, cutAt: text.length };
  }
  let size = 0;
  let count = 0;
  for (const line of lines) {
    size += line.length + 1;
    if (count > 0 && size > maxChars) break;
    count++;
  }
  return { text: lines.slice(0, count).join('\n'), lines: count };
}
