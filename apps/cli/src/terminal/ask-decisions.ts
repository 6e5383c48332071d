import type { PendingCall } from '@x/core';
import { type Decision, type Decisions, formatRule } from '@x/harness';
import { oneLine, printable, type RenderedCall, type RenderedLine } from '@x/harness/view';

/** The person who decides. */
export interface Human {
  show(text: string): void;
  /**
   * Asks for a line, or for one of the keys. Resolves to `undefined` when the input has ended, or the question was dismissed.
   */
  ask(question: string, keys?: string): Promise<string | undefined>;
}

/** Renders a pending call for the person who decides on it. */
export type Preview = (call: PendingCall) => Promise<RenderedCall>;

/** The answers by key. */
const ANSWERS = { y: 'yes', n: 'no', w: 'no, and why', a: 'always' } as const;

/** Shows each pending tool call, and asks for a decision. Calls without an answer stay pending. */
export async function askDecisions(
  calls: readonly PendingCall[],
  human: Human,
  preview: Preview,
): Promise<Decisions> {
  const decisions: Record<string, Decision> = {};
  for (const call of calls) {
    const decision = await askOne(call, human, await preview(call));
    if (decision === undefined) break;
    decisions[call.approvalId] = decision;
  }
  return decisions;
}

async function askOne(call: PendingCall, human: Human, seen: RenderedCall): Promise<Decision | undefined> {
  const keys = (Object.keys(ANSWERS) as (keyof typeof ANSWERS)[]).filter(
    (key) => key !== 'a' || call.suggestion !== undefined,
  );
  const choices = keys.map((key) => `${key} ${ANSWERS[key]}`).join(' · ');
  // The lines show the command.
  const wants = seen.kind === 'execute' ? 'run this command' : seen.wants;
  human.show(describe(call, { ...seen, wants }));
  for (;;) {
    const answer = (await human.ask(`Let it ${wants}? (${choices}) `, keys.join('')))?.trim().toLowerCase();
    if (answer === undefined) return undefined;
    // Compares the whole text, because a sentence that begins with one of the keys may be meant for the agent.
    switch (keys.find((key) => answer === key || answer === ANSWERS[key])) {
      case 'y':
        return { type: 'approve' };
      case 'a':
        return { type: 'approve', always: true };
      case 'n':
        return { type: 'deny' };
      case 'w': {
        const reason = await human.ask('Why not? The agent reads it: ');
        if (reason === undefined) return undefined;
        return { type: 'deny', reason };
      }
      default:
        human.show('Nothing is decided yet: press one of the keys.');
    }
  }
}

function describe({ reason, suggestion, input }: PendingCall, { wants, lines, rest }: RenderedCall): string {
  const command = String(Object(input).command).trim();
  const exact = `execute(${command.replaceAll(/[*?\\]/g, '\\$&')})`;
  const always = suggestion && formatRule(suggestion);
  const allowed = always === exact ? 'exactly this command.' : oneLine(`${always}`.replaceAll('\n', '\\n'));
  const rule = always && `"Always" would allow ${allowed}`;
  const shown = [...lines.map(lineText), ...(rest.length > 0 ? ['with:', ...rest.map(lineText)] : [])];
  return [`\nIt wants to ${wants}.`, reason && printable(reason), ...shown, rule].filter(Boolean).join('\n');
}

function lineText({ mark, text }: RenderedLine): string {
  return mark === '' ? `  ${text}` : `${mark} ${text}`;
}
