import type { Message } from '@x/core';

/** What the compactor's summary says of itself, where that is all it says: LangChain's line stands in its place. */
const FRAME =
  /^\[CONVERSATION_SUMMARY\]\nRecord of earlier messages, not a request[^.\n]*\.\n\n([\s\S]*)\n\[\/CONVERSATION_SUMMARY\]$/;

/**
 * A conversation as LangChain's middleware leaves one: the summary comes first and is what was written, and a request that it
 * does not stand for comes behind the history that the request follows.
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
