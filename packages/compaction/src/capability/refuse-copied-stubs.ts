import { type JsonValue, type Message, type Objection, type ToolUseBlock, textOf } from '@x/core';
import { marksOf } from '../conversation/marks.js';
import { mapStrings } from '../conversation/text.js';
import { readsByName } from '../conversation/tool-calls.js';

/** Patterns of the texts that this package leaves in place of others. A model may see and copy them. */
const STUBS = [
  /\[shortened, was ~\d+ tokens\]/,
  /; full text: (?:recall|log message|read_file) [^\s\]]+\]/,
  / → (?:ok|failed[^\]]*), \d+ lines, \d+ bytes[^\]]*\]/,
  /\[\/?CONVERSATION_SUMMARY\]/,
];

/**
 * Objects to a call whose arguments hold a stub in place of the text that it stands for: models imitate what they see, and
 * would write the stub into a file. A call may run that only reads, that holds no stub, that belongs to a conversation
 * without stubs, or that copies the words from what a user or a tool has said.
 *
 * @param truncations Texts that stand where arguments of calls were cut: elsewhere a user may choose the same words.
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
      `an argument holds ${JSON.stringify(found)}, which stands for text that was taken out of this conversation. ` +
      'Write the text itself; read it again first if you need to.',
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

/** Tests if this package has altered or made the message. */
function isReduced(message: Message): boolean {
  const { masked, previewed, truncated } = marksOf(message);
  return message.kind === 'summary' || masked !== undefined || previewed === true || truncated !== undefined;
}

/** Tests if a user or a tool has said these words in full. */
function isSource(message: Message, words: string): boolean {
  return message.role !== 'assistant' && textOf(message).includes(words);
}
