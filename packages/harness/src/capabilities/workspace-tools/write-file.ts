import { defineTool, type Tool } from '@x/core';
import * as z from 'zod';

export function writeFileTool(): Tool {
  return defineTool({
    name: 'write_file',
    description: 'Writes a text file, replacing what was there; creates the directories above it.',
    paths: { path: 'write' },
    input: z.strictObject({ path: z.string().min(1), content: z.string() }),
    async execute({ path, content }, { workspace }) {
      const before = await workspace.stat(path);
      await workspace.write(path, content);
      const lines = content === '' ? 0 : content.split('\n').length;
      return `${before ? 'Replaced' : 'Created'} ${path} (${lines} lines, ${Buffer.byteLength(content)} bytes).`;
    },
  });
}
