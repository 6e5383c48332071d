import type { JsonValue, PendingCall } from '@x/core';
import { type Decision, type Decisions, formatRule } from '@x/harness';
import { oneLine, printable } from './style.js';

/** Characters; of a longer input both ends are shown, and all of it when asked for. */
const MAX_INPUT = 2_000;

/** Asks a human for one line. Resolves to `undefined` when the input has ended, or the question was left. */
export type Ask = (question: string) => Promise<string | undefined>;

/** Makes the text that a human needs beside a call's input to decide on it. */
export type Preview = (call: PendingCall) => Promise<string | undefined>;

/**
 * Shows each tool call that waits for a human, and asks what to do with it. Calls left without an answer go on waiting.
 */
export async function askDecisions(
  calls: readonly PendingCall[],
  ask: Ask,
  preview: Preview,
): Promise<Decisions> {
  const decisions: Record<string, Decision> = {};
  for (const call of calls) {
    const decision = await askOne(call, ask, await preview(call));
    if (decision === undefined) break;
    decisions[call.approvalId] = decision;
  }
  return decisions;
}

async function askOne(call: PendingCall, ask: Ask, seen = ''): Promise<Decision | undefined> {
  const input = printable(JSON.stringify(call.input, null, 2) ?? '');
  const isLong = input.length > MAX_INPUT;
  const choices = `y yes · n no · e edit${call.suggestion === undefined ? '' : ' · a always'}${isLong ? ' · s show all' : ''}`;
  const shown = isLong
    ? `${input.slice(0, MAX_INPUT / 2)}\n… (${input.length} characters, "s" shows all) …\n${input.slice(-MAX_INPUT / 2)}`
    : input;
  let question = `${describe(call, shown)}${seen === '' ? '' : `\n${printable(seen)}`}\nRun it? (${choices}) `;
  for (;;) {
    const answer = (await ask(question))?.trim();
    if (answer === undefined) return undefined;
    const [letter = '', ...words] = answer.split(/\s+/);
    // A sentence that begins like an answer was meant for somebody else.
    const isNo = /^no?$/i.test(letter);
    switch (words.length === 0 || isNo ? letter.toLowerCase() : '') {
      case 'y':
      case 'yes':
        return { type: 'approve' };
      case 'a':
      case 'always':
        if (call.suggestion !== undefined) return { type: 'approve', always: true };
        break;
      case 'n':
      case 'no':
        return { type: 'deny', ...(words.length === 0 ? {} : { reason: words.join(' ') }) };
      case 's':
      case 'show':
        question = `${describe(call, input)}\nRun it? (${choices}) `;
        continue;
      case 'e':
      case 'edit': {
        const written = await ask('The input to run it with, as JSON: ');
        if (written === undefined) return undefined;
        const edited = parse(written);
        if (edited !== undefined) return { type: 'edit', input: edited };
        question = 'That is no JSON. ';
        continue;
      }
    }
    question = `Answer with ${choices}; behind "n" you may say why. `;
  }
}

function describe({ name, reason, suggestion }: PendingCall, shown: string): string {
  const rule =
    suggestion === undefined
      ? ''
      : `\n"Always" would allow ${oneLine(formatRule(suggestion).replaceAll('\n', '\\n'))}`;
  return `\n${printable(name)} ${shown}${reason === undefined ? '' : `\n${printable(reason)}`}${rule}`;
}

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
