import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { runWriters, type TurnPlan } from '../../src/index.js';

const plan = { seed: 1, sessions: 1, turns: 10, writers: 1, kills: 1 };

it('puts another process in the place of a killed one, and answers what both have acknowledged', async () => {
  const started: string[] = [];
  let disruptions = 0;
  const start = child(`
    const from = plan.writer === 'w1' ? 1 : 9;
    for (let version = from; version < from + 8; version++) process.send({ session: 's', type: 'ok', at: 0, version, id: plan.writer });
    if (plan.writer === 'w1') setTimeout(() => {}, 600_000);
    else process.disconnect();`);
  const acknowledged = await runWriters({
    ...plan,
    start: (given) => {
      started.push(given.writer);
      return start(given);
    },
    disruptions: [async () => void disruptions++],
  });
  expect(started).toEqual(['w1', 'w2']);
  expect(disruptions).toBe(1);
  // What a killed process has sent is not all received.
  expect(acknowledged[0]).toEqual({ session: 's', type: 'ok', at: 0, version: 1, id: 'w1' });
  const last = acknowledged.filter(({ id }) => id === 'w2').map(({ version }) => version);
  expect(last).toEqual([9, 10, 11, 12, 13, 14, 15, 16]);
});

it('fails when a process does, and ends the others', async () => {
  const start = child('if (plan.writer === "w1") process.exit(3); setTimeout(() => {}, 600_000);');
  await expect(runWriters({ ...plan, writers: 2, start })).rejects.toThrow('A writer ended with 3.');
});

it('fails when all is written before everything has happened', async () => {
  const start = child('process.disconnect();');
  await expect(runWriters({ ...plan, start })).rejects.toThrow('before 1 of the kills and disruptions');
});

function child(code: string): (given: TurnPlan) => ChildProcess {
  const directory = mkdtempSync(join(tmpdir(), 'writers-'));
  onTestFinished(() => rmSync(directory, { recursive: true, maxRetries: 20 }));
  const program = join(directory, 'child.cjs');
  writeFileSync(program, `const plan = JSON.parse(process.argv[2]); ${code}`);
  return (given) => fork(program, [JSON.stringify(given)]);
}
