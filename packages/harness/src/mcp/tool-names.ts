import { createHash } from 'node:crypto';
import { headOf } from '@x/core';

/** What providers take: 64 of these characters. */
const MAX_LENGTH = 64;
const NOT_ALLOWED = /[^a-zA-Z0-9_-]/g;
const HASH_LENGTH = 8;

/** How each tool of a server is named to the model: `mcp__server__tool`, made to fit where it does not, no two alike. */
export function toolNames(server: string, tools: readonly string[]): ReadonlyMap<string, string> {
  const plain = tools.map((tool) => `mcp__${server}__${tool.replace(NOT_ALLOWED, '_')}`);
  return new Map(
    tools.map((tool, index) => {
      const name = plain[index] ?? tool;
      const fits = name.length <= MAX_LENGTH && plain.indexOf(name) === plain.lastIndexOf(name);
      if (fits) return [tool, name];
      const hash = createHash('sha256').update(tool).digest('hex').slice(0, HASH_LENGTH);
      return [tool, `${headOf(name, MAX_LENGTH - HASH_LENGTH - 1)}_${hash}`];
    }),
  );
}
