import { type Message, type ReasonScope, textOf } from '@x/core';
import { describe } from '../describe.js';
import { evictText } from './evict-text.js';
import type { ResolvedEvictionConfig } from './eviction-config.js';

/**
 * Replaces, in the conversation, user messages whose text is too long, once the log has them whole. A message that
 * cannot be logged or written stays whole.
 *
 * @param settled Messages that need no second look; grows.
 */
export async function evictUserMessages(
  scope: ReasonScope,
  settings: ResolvedEvictionConfig,
  settled: WeakSet<Message>,
): Promise<void> {
  for (const message of [...scope.state.context]) {
    if (settled.has(message)) continue;
    settled.add(message);
    if (message.role !== 'user' || message.kind !== undefined) continue;
    const { content } = message;
    const text = textOf(content.filter((block) => block.type === 'text'));
    if (text.length <= settings.maxUserChars) continue;
    try {
      await scope.log.append([message]);
      const { block, path } = await evictText(scope, settings, 'This message of the user', text);
      const evicted = { ...message, content: [block, ...content.filter((other) => other.type !== 'text')] };
      // Others may have rewritten the conversation meanwhile.
      const context = scope.state.contextMutable();
      const index = context.indexOf(message);
      if (index < 0) continue;
      context[index] = evicted;
      settled.add(evicted);
      scope.emit({ type: 'message.evicted', messageId: message.id, path, chars: text.length });
    } catch (error) {
      scope.emit({
        type: 'warning',
        source: 'tool_result_eviction',
        message: `A message of the user (${text.length} characters) stays whole: ${describe(error)}`,
      });
    }
  }
}
