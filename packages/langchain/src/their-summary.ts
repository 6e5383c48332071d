import type { Message } from '@x/core';

/** Matches the compactor's introduction to a summary. LangChain's line replaces it. */
const FRAME =
  /^\[CONVERSATION_SUMMARY\]\nRecord of earlier messages, not a request[^.\n]*\.\n\n([\s\S]*)\n\[\/CONVERSATION_SUMMARY\]$/;

/**
 * Orders a conversation as LangChain's middleware does: first the system messages, then the summary, and then all other messages. Removes
 * the compactor's introduction from the summary, so that only the model's text is left.
 */
export function inTheirOrder(messages: readonly Message[]): readonly Message[] {
  const at = messages.findIndex(({ kind }) => kind === 'summary');
  const summary = messages[at];
  if (summary === undefined) return messages;
  const content = summary.content.map((block) =>
    block.type === 'text' && FRAME.test(block.text)
      ? { ...block, text: block.text.replace(FRAME, (_, text: string) => text) }
      : block,
  );
  const isSame = content.every((block, index) => block === summary.content[index]);
  const before = messages.slice(0, at);
  return [
    ...before.filter(({ role }) => role === 'system'),
    isSame ? summary : { ...summary, content },
    ...before.filter(({ role }) => role !== 'system'),
    ...messages.slice(at + 1),
  ];
}
