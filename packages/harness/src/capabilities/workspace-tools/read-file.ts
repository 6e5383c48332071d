import { defineTool, headOf, readText, type Tool } from '@x/core';
import * as z from 'zod';
import type { WorkspaceToolsSettings } from './workspace-tools-config.js';

/** Pages by lines, and by characters within a line, so that also a file of one endless line can be read in parts. */
export function readFileTool({ defaultLines, maxReadChars }: WorkspaceToolsSettings): Tool {
  return defineTool({
    name: 'read_file',
    description:
      `Reads a text file, ${defaultLines} lines and ${maxReadChars} characters at most at a time. The first line of the ` +
      'answer says which part it is and how to go on.',
    readOnly: true,
    paged: true,
    paths: { path: 'read' },
    input: z.strictObject({
      path: z.string().min(1),
      offset: z.int().min(1).default(1).describe('The line to begin with, from 1'),
      limit: z.int().min(1).default(defaultLines).describe('Lines to read'),
      charOffset: z.int().min(0).default(0).describe('Characters to skip in the first line'),
    }),
    async execute({ path, offset, limit, charOffset }, { workspace }) {
      const lines = (await readText(workspace, path)).split('\n');
      if (lines.length > 1 && lines.at(-1) === '') lines.pop();
      if (offset > lines.length) return `[${path} has ${lines.length} lines; there is no line ${offset}]`;

      const wanted = lines.slice(offset - 1, offset - 1 + limit);
      wanted[0] = (wanted[0] ?? '').slice(charOffset);
      const page = takeLines(wanted, maxReadChars);
      const last = offset + page.lines - 1;
      const where = `${path}, lines ${offset}–${last} of ${lines.length}`;
      if (page.cutAt !== undefined) {
        const from = page.lines === 1 ? charOffset : 0;
        const next = from + page.cutAt;
        return `[${where}; line ${last} is cut at character ${next}: go on with offset ${last}, charOffset ${next}]\n${page.text}`;
      }
      const more = last < lines.length ? `; go on with offset ${last + 1}` : '';
      return `[${where}${more}]\n${page.text}`;
    },
  });
}

/** As many whole lines as fit; of the first line, if it alone is too long, its beginning. */
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
