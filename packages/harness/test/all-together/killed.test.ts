import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Message, RuntimeContext, storageOf, toolResultsOf, toolUsesOf } from '@x/core';
import { LocalWorkspace, WorkspaceSession } from '@x/core/node';
import { expect, it, onTestFinished } from 'vitest';
import { bundled } from '../../../../tooling/bundled.js';
import { isPaired, scratch } from '../support.js';
import { everything, furnish } from './everything.js';

const context = RuntimeContext.of({ userId: 'alice', sessionId: 's' });
const PROGRAM = join(import.meta.dirname, '../children/everything-process.ts');
const ROUNDS = 40;
/** How many rounds each process tells of before it is killed. */
const KILLS = [13, 6];

/** Runs the process until it has told of so many rounds, then kills it; what it said last. */
async function run(directory: string, rounds: number): Promise<string> {
  const child = spawn(process.execPath, [bundled(PROGRAM), directory, String(ROUNDS)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let told = 0;
  let last = '';
  const output = createInterface({ input: child.stdout });
  output.on('line', (line) => {
    last = line;
    if (++told === rounds) child.kill('SIGKILL');
  });
  await Promise.all([once(child, 'exit'), once(output, 'close')]);
  return last;
}

it('everything together survives kills at any moment: nothing is lost, done twice or left open', {
  timeout: 600_000,
}, async () => {
  const directory = scratch();
  furnish(directory);
  for (const rounds of KILLS) await run(directory, rounds);
  expect(await run(directory, Number.POSITIVE_INFINITY)).toBe('ended: completed');

  const paidFile = join(directory, 'paid.txt');
  const paid = existsSync(paidFile) ? readFileSync(paidFile, 'utf8').trim().split('\n') : [];
  expect(paid.length).toBeGreaterThanOrEqual(3);
  expect(new Set(paid).size).toBe(paid.length);

  const session = new WorkspaceSession(storageOf(new LocalWorkspace(directory)));
  const { agent } = await everything({ directory, session, script: [] });
  const state = await agent.state(context);
  expect(isPaired(state?.context ?? [])).toBe(true);
  expect(state?.activeCall).toBeUndefined();

  const logged: Message[] = [];
  for await (const message of agent.log(context).read()) logged.push(message);
  expect(new Set(logged.map(({ id }) => id)).size).toBe(logged.length);
  const asked = new Set(logged.flatMap(toolUsesOf).map(({ id }) => id));
  expect(paid.filter((amount) => !asked.has(`pay-${amount}`))).toEqual([]);
  // Whatever was asked of a tool has an answer, be it that nobody knows how it ended. Only a step that was logged, and
  // not yet stored when the process was killed, has none: it never came to be, and nothing of it was done.
  const answered = new Set(logged.flatMap(toolResultsOf).map(({ toolUseId }) => toolUseId));
  const unanswered = logged.filter((message) => toolUsesOf(message).some(({ id }) => !answered.has(id)));
  expect(unanswered.length).toBeLessThanOrEqual(KILLS.length);
  expect(paid.filter((amount) => !answered.has(`pay-${amount}`))).toEqual([]);
  const ids = new Set(logged.map(({ id }) => id));
  expect(state?.context.filter(({ id, kind }) => kind === undefined && !ids.has(id))).toEqual([]);
  await agent.close();
});
