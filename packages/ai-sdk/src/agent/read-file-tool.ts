import { headOf, readText, type Workspace, WorkspaceError } from '@x/core';
import * as z from 'zod';

const MAX_CHARS = 20_000;

const inputSchema = z.object({
  path: z.string().describe('The path that a result names'),
  line: z.int().min(1).default(1).describe('The first line to read, from 1'),
  lines: z.int().min(1).max(2_000).default(200).describe('How many lines to read'),
  column: z.int().min(1).default(1).describe('Where in the first line to begin, from 1: for very long lines'),
});

/** A tool of the AI SDK that reads a text of the workspace back, by lines and within a line. */
export function readFileTool(workspace: Pick<Workspace, 'read'>) {
  return {
    description:
      'Reads a part of a file: results that were too long are kept in files. ' +
      `At most ${MAX_CHARS} characters at once; the answer says how to read on.`,
    inputSchema,
    execute: async (input: z.output<typeof inputSchema>): Promise<string> => {
      try {
        return page(await readText(workspace, input.path), input);
      } catch (error) {
        if (WorkspaceError.isInstance(error)) return `Cannot read ${input.path}: ${error.message}`;
        throw error;
      }
    },
  };
}

function page(text: string, { line, lines, column }: z.output<typeof inputSchema>): string {
  const all = text.split('\n');
  if (line > all.length) return `The file has ${all.length} lines.`;
  const wanted = all.slice(line - 1, line - 1 + lines);
  wanted[0] = (wanted[0] ?? '').slice(column - 1);
  const joined = wanted.join('\n');
  const shown = headOf(joined, MAX_CHARS);
  const whole = shown.length === joined.length;
  const next = line + shown.split('\n').length - (whole ? 0 : 1);
  if (whole && next > all.length) return shown;
  // Where the text breaks off within a line, that line goes on at the next column.
  const within = shown.length - (shown.lastIndexOf('\n') + 1);
  const nextColumn = whole ? 1 : within + (next === line ? column : 1);
  const hint = `line ${next}${nextColumn === 1 ? '' : `, column ${nextColumn}`}`;
  return `${shown}\n[… the file has ${all.length} lines: read on from ${hint}]`;
}
