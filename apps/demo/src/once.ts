import { join, relative } from 'node:path';
import { RuntimeContext, textOf } from '@x/core';
import { EventPrinter } from '../../cli/src/terminal/event-printer.js';
import { answerOnce } from '../../cli/src/terminal/once.js';
import { styleFor } from '../../cli/src/terminal/style.js';
import { AGENT, type DemoAgent } from './create-agent.js';

interface OnceOptions {
  readonly prompt: string;
  /** The session to use. Default: an interrupted session with the same prompt, otherwise a new one. */
  readonly session?: string | undefined;
  readonly output: NodeJS.WriteStream;
  /** The folder of the agent's files, for printing the paths of files that it wrote. */
  readonly folder: string;
}

const PREFIX = 'once-';

/** Answers one prompt in the terminal. Resolves to the exit code of the program. */
export async function once(demo: DemoAgent, options: OnceOptions): Promise<number> {
  const { prompt, session, output, folder } = options;
  const { agent } = demo;
  const unfinished = session === undefined ? await findUnfinished(demo, prompt) : undefined;
  const sessionId =
    session ?? unfinished ?? `${PREFIX}${new Date().toISOString().replace(/\D/g, '').slice(0, 17)}`;
  const context = RuntimeContext.of({ sessionId });
  const printer = new EventPrinter({ reply: output, progress: output, style: styleFor(output) });
  printer.note(unfinished ? `Resuming session ${sessionId} at its last checkpoint.` : `Session ${sessionId}`);
  const startedAt = new Date().toISOString();
  const code = await answerOnce({
    agent,
    context,
    printer,
    prompt: unfinished ? '' : prompt,
    goOn: () => 'the same command',
    decide: () => ({}),
  });
  for await (const { path, type, modifiedAt } of agent.files(context).list('')) {
    if (type === 'file' && modifiedAt >= startedAt)
      printer.note(`Wrote ${relative(process.cwd(), join(folder, path))}`);
  }
  return code;
}

/** Finds the latest session of this kind that began with the same prompt and whose call never ended. */
async function findUnfinished({ agent, store }: DemoAgent, prompt: string): Promise<string | undefined> {
  // Stores list the most recently changed sessions first.
  for await (const { key } of store.list({ agentId: AGENT })) {
    const { sessionId } = key.parts;
    if (!sessionId.startsWith(PREFIX)) continue;
    const state = await agent.state(RuntimeContext.of({ sessionId }));
    const asked = state?.context.find((message) => message.role === 'user' && message.kind === undefined);
    if (state?.activeCall && asked && textOf(asked) === prompt) return sessionId;
  }
  return undefined;
}
