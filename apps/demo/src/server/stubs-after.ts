import { headOf, type ManifestEntry, type Message, textOf } from '@x/core';

const MAX_CHARS = 1_000;

/** Collects, by message id, the texts that the model saw right after a compaction of messages that it altered in place. */
export function stubsAfter(
  manifest: readonly ManifestEntry[],
  context: readonly Message[],
): Readonly<Record<string, string>> {
  const altered = new Set(manifest.map(({ messageId }) => messageId));
  const standing = context.filter(({ id }) => altered.has(id));
  return Object.fromEntries(standing.map((message) => [message.id, headOf(wordsOf(message), MAX_CHARS)]));
}

/** As the page words messages: calls and results included. */
function wordsOf(message: Message): string {
  return message.content
    .flatMap((block) => {
      if (block.type === 'text') return [block.text];
      if (block.type === 'tool_result') return [textOf(block.output)];
      return block.type === 'tool_use' ? [`${block.name} ${JSON.stringify(block.input)}`] : [];
    })
    .join('\n');
}
