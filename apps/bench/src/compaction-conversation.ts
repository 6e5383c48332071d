import { assistantMessage, type Message, type ToolUseBlock, toolResultMessage, userMessage } from '@x/core';
import { readCorpus } from './corpus.js';

/** UTF-16 units of a tool's result. */
const RESULT = 1_000;
/** A request every so many rounds. */
const ROUNDS_PER_REQUEST = 25;
/** Where a part of a name ends: before a capital, a digit, or what joins parts. */
const SEAM = /(?<=[a-z])(?=[A-Z\d_./])/g;

let texts: readonly string[] | undefined;

/**
 * New message objects each time, of the same texts: code, prose and JSON in turn.
 *
 * @param mark Letters that all names in the results get: with others than before, nobody has met these names.
 */
export function conversation(length: number, mark: string): readonly Message[] {
  texts ??= (['code', 'prose', 'json'] as const)
    .map((kind) => readCorpus(kind))
    .reduce<string[][]>((rows, column) => column.map((text, index) => [...(rows[index] ?? []), text]), [])
    .flat();
  const messages: Message[] = [];
  for (let round = 0; messages.length < length; round++) {
    if (round % ROUNDS_PER_REQUEST === 0)
      messages.push(userMessage(`Fix what is wrong in src/part${round}.ts.`));
    const text = texts[round % texts.length] ?? '';
    const call: ToolUseBlock = {
      type: 'tool_use',
      id: `call-${round}`,
      name: 'read_file',
      input: { path: `src/part${round}/file${round % 97}.ts` },
    };
    messages.push(
      assistantMessage([{ type: 'text', text: `Now I look at part ${round}.` }, call]),
      toolResultMessage(call, text.replaceAll(SEAM, mark).slice(0, RESULT)),
    );
  }
  return messages.slice(0, length - 1).concat(assistantMessage('Done.'));
}
