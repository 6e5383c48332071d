import type { JsonValue, PendingCall } from '@x/core';
import { type Decision, type Decisions, formatRule } from '@x/harness';
import { oneLine, printable, type RenderedCall, type RenderedLine } from '@x/harness/view';

/** Characters; of a longer input both ends are shown, and all of it when asked for. */
const MAX_INPUT = 2_000;

/** Asks a human for one line. Resolves to `undefined` when the input has ended, or the question was left. */
export type Ask = (question: string) => Promise<string | undefined>;

/** Renders what a human has to see of a call to decide on it. */
export type Preview = (call: PendingCall) => Promise<RenderedCall>;

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

async function askOne(call: PendingCall, ask: Ask, seen: RenderedCall): Promise<Decision | undefined> {
  const whole = callText(seen);
  const isLong = whole.length > MAX_INPUT;
  const choices = `y yes · n no · e edit${call.suggestion === undefined ? '' : ' · a always'}${isLong ? ' · s show all' : ''}`;
  const shown = isLong
    ? `${whole.slice(0, MAX_INPUT / 2)}\n… (${whole.length} characters, "s" shows all) …\n${whole.slice(-MAX_INPUT / 2)}`
    : whole;
  const asked = (text: string) => `${describe(call, seen, text)}\nRun it? (${choices}) `;
  let question = asked(shown);
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
        question = asked(whole);
        continue;
      case 'e':
      case 'edit': {
        const written = await ask('The input to run it with, as JSON: ');
        if (written === undefined) return undefined;
        const edited = parse(written);
        if (edited !== undefined) return { type: 'edit', input: edited };
        question = 'That is not valid JSON. ';
        continue;
      }
    }
    question = `Answer with ${choices}; behind "n" you may say why. `;
  }
}

function describe({ reason, suggestion }: PendingCall, { wants }: RenderedCall, shown: string): string {
  const rule =
    suggestion && `"Always" would allow ${oneLine(formatRule(suggestion).replaceAll('\n', '\\n'))}`;
  return [`\nIt wants to ${wants}.`, reason && printable(reason), shown, rule].filter(Boolean).join('\n');
}

/** All that a call would do, as text. */
function callText({ lines, rest }: RenderedCall): string {
  const text = [...lines.map(lineText), ...(rest.length > 0 ? ['with:', ...rest.map(lineText)] : [])];
  return text.join('\n');
}

function lineText({ mark, text }: RenderedLine): string {
  return mark === '' ? `  ${text}` : `${mark} ${text}`;
}

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
