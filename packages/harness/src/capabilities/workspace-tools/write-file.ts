import { defineTool, readText, type Tool, WorkspaceError } from '@x/core';
import * as z from 'zod';
import { MAX_FILE_BYTES } from './workspace-tools-config.js';

export function writeFileTool(): Tool {
  return defineTool({
    name: 'write_file',
    description: 'Writes a text file. Replaces the file if it exists, and creates its directories.',
    paths: { path: 'write' },
    input: z.strictObject({ path: z.string().min(1), content: z.string() }),
    async execute({ path, content }, { workspace }) {
      const before = await workspace.stat(path);
      await workspace.write(path, content);
      const lines = content === '' ? 0 : content.replace(/\n$/, '').split('\n').length;
      const size = `${lines} ${lines === 1 ? 'line' : 'lines'}, ${Buffer.byteLength(content)} bytes`;
      return `${before ? 'Replaced' : 'Created'} ${path} (${size}).`;
    },
  });
}

export function editFileTool(): Tool {
  return defineTool({
    name: 'edit_file',
    description:
      'Replaces an exact piece of text in a file. oldText must occur exactly once, unless replaceAll is set. Include ' +
      'enough of the surrounding lines to make it unique.',
    paths: { path: 'edit' },
    input: z.strictObject({
      path: z.string().min(1),
      oldText: z.string().min(1),
      newText: z.string(),
      replaceAll: z.boolean().default(false),
    }),
    async execute({ path, oldText, newText, replaceAll }, { workspace }) {
      const text = await readText(workspace, path, MAX_FILE_BYTES);
      const pieces = text.split(oldText);
      const count = pieces.length - 1;
      if (count === 0) {
        const message = `oldText does not occur in ${path}. Read the file again and copy it exactly.`;
        throw new WorkspaceError('not_found', path, message, { clientMessage: message });
      }
      if (count > 1 && !replaceAll) {
        const message = `oldText occurs ${count} times in ${path}. Add surrounding lines to make it unique, or set replaceAll.`;
        throw new WorkspaceError('already_exists', path, message, { clientMessage: message });
      }
      await workspace.write(path, pieces.join(newText));
      return `Replaced ${count} ${count === 1 ? 'occurrence' : 'occurrences'} in ${path}.`;
    },
  });
}
