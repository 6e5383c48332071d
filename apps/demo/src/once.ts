import { RuntimeContext, textOf } from '@x/core';
import { EventPrinter } from '../../cli/src/terminal/event-printer.js';
import { styleFor } from '../../cli/src/terminal/style.js';
import { AGENT, type DemoAgent } from './create-agent.js';

interface OnceOptions {
  readonly prompt: string;
  /** The session to use; left out: one that was cut off with the same prompt, else a new one. */
  readonly session?: string | undefined;
  readonly output: NodeJS.WriteStream;
}

const PREFIX = 'once-';

/** Answers one prompt in the terminal. Resolves to true when the call completed. */
export async function once(demo: DemoAgent, { prompt, session, output }: OnceOptions): Promise<boolean> {
  const unfinished = session === undefined ? await findUnfinished(demo, prompt) : undefined;
  const sessionId =
    session ?? unfinished ?? `${PREFIX}${new Date().toISOString().replace(/\D/g, '').slice(0, 17)}`;
  const context = RuntimeContext.of({ sessionId });
  const printer = new EventPrinter({ reply: output, progress: output, style: styleFor(output) });
  printer.note(unfinished ? `Resuming session ${sessionId} at its last checkpoint.` : `Session ${sessionId}`);
  const events = unfinished ? demo.agent.resumeStream(context) : demo.agent.stream(prompt, context);
  let stopReason = '';
  for await (const event of events) {
    printer.print(event);
    if (event.type === 'call.completed') stopReason = event.stopReason;
  }
  if (stopReason !== 'completed')
    printer.note(`Stopped: ${stopReason}. Run the same command again to go on.`);
  return stopReason === 'completed';
}

/** The latest session of this kind whose call never ended and which began with the same prompt. */
async function findUnfinished({ agent, store }: DemoAgent, prompt: string): Promise<string | undefined> {
  const candidates: { readonly sessionId: string; readonly updatedAt: string }[] = [];
  for await (const { key, updatedAt } of store.list({ agentId: AGENT })) {
    const { sessionId } = key.parts;
    if (sessionId.startsWith(PREFIX)) candidates.push({ sessionId, updatedAt });
  }
  candidates.sort((left, right) => right.updatedAt.localeCompare(left.updatedAt));
  for (const { sessionId } of candidates) {
    const state = await agent.state(RuntimeContext.of({ sessionId }));
    const asked = state?.context.find((message) => message.role === 'user' && message.kind === undefined);
    if (state?.activeCall && asked && textOf(asked) === prompt) return sessionId;
  }
  return undefined;
}
