import type { AgentEvent, RuntimeContext } from '@x/core';
import { type Decisions, type HarnessAgent, pendingCalls } from '@x/harness';
import type { EventPrinter } from './event-printer.js';

export interface OnceOptions {
  readonly agent: HarnessAgent;
  readonly context: RuntimeContext;
  readonly printer: EventPrinter;
  /** Empty to go on where the session stopped. */
  readonly prompt: string;
  /** Says how to continue with the session, where calls wait for a decision or not. */
  goOn(waits: boolean): string;
  /** Decides on the calls that wait, by their approvals' ids. */
  decide(waiting: readonly string[]): Decisions;
}

/** The call did not complete: something must be decided, a limit was reached, or it was stopped. */
const STOPPED = 3;

/**
 * Answers once and resolves with the program's exit code: 0 when the call completed, 3 when it stopped before; how to go on
 * is said then.
 */
export async function answerOnce({
  agent,
  context,
  printer,
  prompt,
  goOn,
  decide,
}: OnceOptions): Promise<number> {
  const state = await agent.state(context);
  const waiting = pendingCalls(state).map(({ approvalId }) => approvalId);
  const options = { decisions: decide(waiting), onWait: printer.waiting };
  const events =
    prompt === '' ? agent.resumeStream(context, options) : agent.stream(prompt, context, options);
  let last: AgentEvent | undefined;
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
  if (last?.type !== 'call.completed' || last.stopReason === 'completed') return 0;
  printer.note(`Go on with: ${goOn(last.stopReason === 'permission_required')}`);
  return STOPPED;
}
