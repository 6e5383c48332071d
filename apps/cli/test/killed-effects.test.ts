import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { RuntimeContext, textOf, toolResultsOf, toolUsesOf } from '@x/core';
import { HarnessAgent } from '@x/harness';
import { ScriptedModel } from '@x/testkit';
import { inject, it } from 'vitest';
import { openTestedStore, type TestedStore } from './support/tested-store.js';

const context = RuntimeContext.of({ sessionId: 's' });
/** `children/paid-tools.ts`, as `support/build.ts` has built it. */
const PROGRAM = join(import.meta.dirname, '../node_modules/.cache/x/dist/paid-tools.js');
/** Processes of each store that are killed, each at another wait of its call: 0 for every wait that there is. */
const KILLS = Number(process.env.X_KILLS ?? 2);
/** Until another process continues where one was killed. */
const TAKEOVER_MS = 3_000;

function scratch(onTestFinished: (clean: () => void) => void): string {
  const directory = mkdtempSync(join(tmpdir(), 'x-killed-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }));
  return directory;
}

const stores: Readonly<Record<TestedStore['kind'], (directory: string) => string>> = {
  workspace: (directory) => directory,
  directory: (directory) => directory,
  sqlite: (directory) => join(directory, 'sessions.db'),
  redis: () => inject('redisUrl'),
  mysql: () => inject('mysqlUrl'),
  postgres: () => inject('postgresUrl'),
};
const kinds = Object.keys(stores) as TestedStore['kind'][];

/** A store that nobody else uses. */
function storeIn(kind: TestedStore['kind'], directory: string): TestedStore {
  const own = `x_${randomBytes(6).toString('hex')}`;
  return { kind, address: stores[kind](directory), part: own };
}

async function run(directory: string, at: number, store: TestedStore): Promise<string> {
  const child = spawn(process.execPath, [PROGRAM, directory, String(at), JSON.stringify(store)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return said;
}

// Each waits for leases most of the time.
it.concurrent.for(kinds)(
  'a process killed at any wait of a call forgets no payment, and doubts none that it did not begin: %s',
  {
    timeout: 1_800_000,
  },
  async (kind, { expect, onTestFinished }) => {
    const first = scratch(onTestFinished);
    const waits = Number(/waits: (\d+)/.exec(await run(first, 0, storeIn(kind, first)))?.[1]);
    expect(waits).toBeGreaterThan(32);
    const stride = KILLS === 0 ? 1 : Math.max(1, Math.floor(waits / KILLS));
    let kills = 0;
    for (let at = stride; at <= waits; at += stride, kills++) {
      const directory = scratch(onTestFinished);
      const tested = storeIn(kind, directory);
      expect(await run(directory, at, tested)).toBe('');
      const file = join(directory, 'paid.txt');
      const paid = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
      expect(new Set(paid).size).toBe(paid.length);

      const { store, close } = await openTestedStore(tested);
      onTestFinished(close);
      const model = new ScriptedModel([{ text: 'I see.' }]);
      const agent = HarnessAgent.builder()
        .model(model)
        .workspace(directory)
        .session(store)
        .limits({ queueMs: TAKEOVER_MS })
        .build();
      const state = await agent.state(context);
      if (state === undefined) {
        // Nothing was stored, so nothing may have been paid.
        expect([at, paid]).toEqual([at, []]);
        continue;
      }
      if (state.activeCall !== undefined) await agent.resume(context);
      const messages = (await agent.state(context))?.context ?? [];
      expect(messages.flatMap(toolResultsOf).map(({ toolUseId }) => toolUseId)).toEqual(
        messages.flatMap(toolUsesOf).map(({ id }) => id),
      );
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
    expect(kills).toBeGreaterThanOrEqual(Math.min(KILLS || waits, waits));
  },
);
