import { createHash } from 'node:crypto';
import {
  type CallScope,
  headOf,
  SessionKey,
  sessionPrefix,
  type TextBlock,
  type ToolResultBlock,
  tailOf,
} from '@x/core';
import { isObject } from '../conversation/marks.js';
import type { ResolvedEvictionConfig } from './eviction-config.js';

/** What stands for a text that is in the workspace now. */
interface EvictedText {
  readonly block: TextBlock;
  readonly path: string;
}

/**
 * Writes a text to the workspace, and makes a block of its size, its head, its tail and a pointer for `read_file`.
 *
 * @param what Begins the sentence: `The result of execute`.
 * @throws what the workspace throws.
 */
export async function evictText(
  scope: CallScope,
  { evictionPath, previewChars }: ResolvedEvictionConfig,
  what: string,
  text: string,
): Promise<EvictedText> {
  const path = `${evictionPath.replaceAll(/^\/+|\/+$/g, '')}/${pathFor(scope, text)}`;
  await scope.workspace.write(path, text);
  return { block: evictedBlock(preview(what, text, path, previewChars), path), path };
}

/** Below the prefix of whoever the session belongs to. Named by content: the same text is there once. */
function pathFor({ agentId, state: { tenantId, userId, sessionId } }: CallScope, text: string): string {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 32);
  const key = SessionKey.of({ tenantId, userId, agentId, sessionId });
  return `${sessionPrefix(key)}${key.path.sessionId}/${hash}.txt`;
}

function preview(what: string, text: string, path: string, length: number): string {
  const omitted = Math.max(0, text.length - 2 * length);
  return [
    `[${what} has ${text.length} characters in ${text.split('\n').length} lines. It was written ` +
      `to ${path}: read the parts you need with read_file. Its beginning and end:]`,
    headOf(text, length),
    `[… ${omitted} characters …]`,
    tailOf(text, length),
  ].join('\n');
}

const MARK = '@x/compaction';

/** A text that says where the full text of a tool result was written, marked so that others can tell. */
export function evictedBlock(text: string, path: string): TextBlock {
  return { type: 'text', text, providerMetadata: { [MARK]: { evictedTo: path } } };
}

/** Where the full text of this result was written, if it was. */
export function evictedPath(result: ToolResultBlock): string | undefined {
  for (const { providerMetadata } of result.output) {
    const mark = providerMetadata?.[MARK];
    if (isObject(mark) && typeof mark.evictedTo === 'string') return mark.evictedTo;
  }
  return undefined;
}
