import { type JsonValue, type Message, type Objection, type ToolUseBlock, textOf } from '@x/core';
import { marksOf } from '../conversation/marks.js';
import { stubMarks, stubPatterns } from '../conversation/stub-texts.js';
import { mapStrings } from '../conversation/text.js';
import { readsByName } from '../conversation/tool-calls.js';

/** Matches the placeholders that this package leaves in messages. A model may see and copy them. */
const STUBS = [...stubPatterns, /\[\/?CONVERSATION_SUMMARY\]/];

/**
 * Rejects a call whose arguments contain a placeholder of this package. Models copy placeholders that they see, and would write them into a
 * file. Allows read-only calls, and placeholders that a user or a tool wrote in full. If the conversation has no placeholders, allows
 * everything.
 *
 * @param truncations The texts that replaced cut arguments in this conversation. They are configurable.
 */
export function refuseCopiedStubs(
  call: ToolUseBlock,
  context: readonly Message[],
  truncations: ReadonlySet<string>,
): Objection | undefined {
  if (readsByName(call.name)) return undefined;
  const found = stubIn(call.input, truncations);
  if (found === undefined) return undefined;
  if (!context.some(isReduced)) return undefined;
  if (context.some((message) => !isReduced(message) && isSource(message, found))) return undefined;
  return {
    type: 'deny',
    reason:
      `an argument contains ${JSON.stringify(found)}, a placeholder for text that was removed from this conversation. ` +
      'Write the text itself. If you need it, read it again first.',
  };
}

function stubIn(input: JsonValue, truncations: ReadonlySet<string>): string | undefined {
  let found: string | undefined;
  mapStrings(input, (text) => {
    for (const truncation of truncations) found ??= text.includes(truncation) ? truncation : undefined;
    for (const stub of STUBS) found ??= stub.exec(text)?.[0];
    return text;
  });
  return found;
}

/** Tests if this package has altered or made the message, or a part of it. */
function isReduced(message: Message): boolean {
  if (message.kind === 'summary') return true;
  const parts = message.content.flatMap((block) => (block.type === 'tool_result' ? block.output : block));
  const notes = parts.map((part) => (part.type === 'text' ? part.providerMetadata : undefined));
  return [message.metadata, ...notes].some((metadata) =>
    Object.keys(marksOf({ metadata })).some((mark) => stubMarks.has(mark)),
  );
}

/** Tests if a user or a tool wrote exactly this text. */
function isSource(message: Message, words: string): boolean {
  return message.role !== 'assistant' && textOf(message).includes(words);
}
