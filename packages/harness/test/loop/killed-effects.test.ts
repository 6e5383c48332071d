import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { LocalWorkspace, RuntimeContext, textOf, toolResultsOf, WorkspaceSession } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { expect, it } from 'vitest';
import { HarnessAgent } from '../../src/index.js';
import { isPaired, scratch } from '../support.js';

const context = RuntimeContext.of({ sessionId: 's' });
const PROGRAM = join(import.meta.dirname, '../children/paid-tools.ts');
/** Processes that are killed, each at another wait of its call: 0 for every wait that there is. */
const KILLS = Number(process.env.X_KILLS ?? 6);

async function run(directory: string, at: number): Promise<string> {
  const child = spawn(
    process.execPath,
    ['--conditions=@x/source', '--import', 'tsx', PROGRAM, directory, String(at)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const [said] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return said;
}

it('a process killed at any wait of a call forgets no payment, and doubts none that it did not begin', {
  timeout: 600_000,
}, async () => {
  const waits = Number(/waits: (\d+)/.exec(await run(scratch(), 0))?.[1]);
  expect(waits).toBeGreaterThan(20);
  const stride = KILLS === 0 ? 1 : Math.max(1, Math.floor(waits / KILLS));
  let kills = 0;
  for (let at = stride; at <= waits; at += stride, kills++) {
    const directory = scratch();
    expect(await run(directory, at)).toBe('');
    const file = join(directory, 'paid.txt');
    const paid = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
    expect(new Set(paid).size).toBe(paid.length);

    const session = new WorkspaceSession(new LocalWorkspace(directory));
    const model = new ScriptedModel([{ text: 'I see.' }]);
    const agent = HarnessAgent.builder().model(model).workspace(directory).session(session).build();
    const state = await agent.state(context);
    if (state === undefined) {
      // Nothing was stored, so nothing may have been paid.
      expect([at, paid]).toEqual([at, []]);
      continue;
    }
    if (state.activeCall !== undefined) await agent.resume(context);
    const messages = (await agent.state(context))?.context ?? [];
    expect(isPaired(messages)).toBe(true);
    const results = messages.flatMap(toolResultsOf);
    for (const invoice of paid) {
      const result = results.find(({ toolUseId }) => toolUseId === `call-${invoice}`);
      expect(textOf(result?.output ?? []), `killed at ${at}`).toMatch(
        new RegExp(`^paid ${invoice}$|may or may not have taken effect`),
      );
    }
    const doubted = results.filter(({ output }) => textOf(output).includes('may or may not'));
    expect(doubted.length, `killed at ${at}`).toBeLessThanOrEqual(1);
    await agent.close();
  }
  expect(kills).toBeGreaterThanOrEqual(Math.min(KILLS || waits, 5));
});
