import { InvalidInputError, type Message } from '@x/core';
import type { PromptTarget } from '../prompt/target.js';
import { compactedItems } from './compacted-items.js';

/**
 * Refuses a conversation whose older part only another model can read: sent without it, it would be lost silently.
 *
 * @throws {InvalidInputError} naming the block.
 */
export function checkReadable(messages: readonly Message[], target: PromptTarget): void {
  for (const [index, { content }] of messages.entries()) {
    for (const [position, block] of content.entries()) {
      if (block.type !== 'opaque' || compactedItems(block) === undefined) continue;
      if (block.provider === target.provider && target.compactedPart?.(block) !== undefined) continue;
      const message =
        `is a compaction by ${block.provider} that ${target.provider} cannot read here; use a model of ` +
        `${block.provider} with the option compact: openaiCompaction(), or undo the compaction`;
      throw new InvalidInputError('model request', [
        { path: `messages[${index}].content[${position}]`, message },
      ]);
    }
  }
}
