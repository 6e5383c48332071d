import { type JsonValue, type Message, type Objection, type ToolUseBlock, textOf, toolUsesOf } from '@x/core';
import { marksOf } from '../conversation/marks.js';
import { mapStrings } from '../conversation/text.js';
import { effectOf } from '../conversation/tool-calls.js';

/** What this package leaves in place of text, where a model may see it and copy it. */
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
 * @param truncationText What stands where an argument was cut.
 */
export function refuseCopiedStubs(
  call: ToolUseBlock,
  context: readonly Message[],
  truncationText: string | undefined,
): Objection | undefined {
  if (effectOf(call.name, false) === 'read') return undefined;
  const found = stubIn(call.input, truncationText);
  if (found === undefined) return undefined;
  if (!context.some(isReduced)) return undefined;
  // Words that a user may choose, too: the model copied them only if it sees a call that was cut with them.
  if (found === truncationText && !context.some((message) => isReduced(message) && cutWith(message, found))) {
    return undefined;
  }
  if (context.some((message) => !isReduced(message) && isSource(message, found))) return undefined;
  return {
    type: 'deny',
    reason:
      `an argument holds ${JSON.stringify(found)}, which stands for text that was taken out of this conversation. ` +
      'Write the text itself; read it again first if you need to.',
  };
}

function stubIn(input: JsonValue, truncationText: string | undefined): string | undefined {
  let found: string | undefined;
  mapStrings(input, (text) => {
    found ??= truncationText && text.includes(truncationText) ? truncationText : undefined;
    for (const stub of STUBS) found ??= stub.exec(text)?.[0];
    return text;
  });
  return found;
}

/** Whether this package has altered or made the message. */
function isReduced(message: Message): boolean {
  const { masked, previewed, truncated } = marksOf(message);
  return message.kind === 'summary' || masked !== undefined || previewed === true || truncated === true;
}

/** Tells whether an argument of a call in the message was cut with these words. */
function cutWith(message: Message, words: string): boolean {
  return toolUsesOf(message).some(({ input }) => stubIn(input, words) === words);
}

/** Whether a user or a tool has said these words in full. */
function isSource(message: Message, words: string): boolean {
  return message.role !== 'assistant' && textOf(message).includes(words);
}
