import { createHash } from 'node:crypto';
import { join, relative } from 'node:path';
import { stdout } from 'node:process';
import { RuntimeContext } from '@x/core';
import { EventPrinter } from '../../cli/src/terminal/event-printer.js';
import { answerOnce } from '../../cli/src/terminal/once.js';
import { styleFor } from '../../cli/src/terminal/style.js';
import type { DemoAgent } from './create-agent.js';

/**
 * Answers one prompt in the terminal. The same prompt has the same session, so that it resumes. Resolves to the exit code.
 *
 * @param folder The folder of the agent's files, for printing the paths of files that it wrote.
 */
export async function once({ agent }: DemoAgent, prompt: string, folder: string): Promise<number> {
  const sessionId = `once-${createHash('sha256').update(prompt).digest('hex').slice(0, 12)}`;
  const context = RuntimeContext.of({ sessionId });
  const printer = new EventPrinter({ reply: stdout, progress: stdout, style: styleFor(stdout) });
  const isUnfinished = (await agent.state(context))?.activeCall !== undefined;
  printer.note(
    isUnfinished ? `Resuming session ${sessionId} at its last checkpoint.` : `Session ${sessionId}`,
  );
  const startedAt = new Date().toISOString();
  const code = await answerOnce({
    agent,
    context,
    printer,
    prompt: isUnfinished ? '' : prompt,
    goOn: () => 'the same command',
    decide: () => ({}),
  });
  for await (const { path, type, modifiedAt } of agent.files(context).list('')) {
    if (type === 'file' && modifiedAt >= startedAt)
      printer.note(`Wrote ${relative(process.cwd(), join(folder, path))}`);
  }
  return code;
}
