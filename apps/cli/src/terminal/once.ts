import type { AgentEvent, RuntimeContext, StopReason } from '@x/core';
import { type Decisions, type HarnessAgent, pendingCalls } from '@x/harness';
import type { EventPrinter } from './event-printer.js';

export interface OnceOptions {
  readonly agent: HarnessAgent;
  readonly context: RuntimeContext;
  readonly printer: EventPrinter;
  /** Empty to continue where the session stopped. */
  readonly prompt: string;
  /** Returns the command that continues the session with these options. */
  goOn(options: string): string;
  /** Returns decisions on pending calls, by approval id. */
  decide(waiting: readonly string[]): Decisions;
}

/** Exit code of a call that did not complete: a decision is pending, a limit was reached, or it was stopped. */
const STOPPED = 3;

const RESUME = '--resume';

/** Options that continue a session, by the stop reason of its call, if `--resume` cannot continue it. */
const CONTINUE: { readonly [Reason in StopReason]?: string } = {
  permission_required: '--approve all   (or --deny all)',
  truncated: '--prompt "Go on"',
  refused: '--prompt TEXT',
  filtered: '--prompt TEXT',
};

/** Answers once. Resolves with the program's exit code: 0 if the call completed, 3 if it stopped before, with a hint how to continue. */
export async function answerOnce(options: OnceOptions): Promise<number> {
  const { agent, context, printer, prompt, goOn, decide } = options;
  const state = await agent.state(context);
  const waiting = pendingCalls(state).map(({ approvalId }) => approvalId);
  const how = { decisions: decide(waiting), onWait: printer.waiting };
  const events = prompt === '' ? agent.resumeStream(context, how) : agent.stream(prompt, context, how);
  let last: AgentEvent | undefined;
  try {
    for await (const event of events) {
      printer.print(event);
      if (event.type === 'permission.required') {
        for (const { approvalId: id, name, input } of event.calls) {
          printer.note(
            `${name} ${JSON.stringify(input)} waits for a decision: --approve ${id} or --deny ${id}`,
          );
        }
      }
      last = event;
    }
  } catch (error) {
    if (printer.failed(error, goOn(RESUME))) return 1;
    throw error;
  }
  if (last?.type !== 'call.completed' || last.stopReason === 'completed') return 0;
  printer.note(`Go on with: ${goOn(CONTINUE[last.stopReason] ?? RESUME)}`);
  return STOPPED;
}
