import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { x } from './support/run-command.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'x-doctor-log-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }));

function logWithout(missing: number): string {
  const rows = Array.from({ length: 20 }, (_, index) => ({
    type: index % 2 === 0 ? 'user' : 'assistant',
    uuid: `u${index}`,
    parentUuid: index === 0 ? null : `u${index - 1}`,
    sessionId: 's',
    message: { id: `m${index}`, content: `said ${index}` },
  }));
  return rows
    .toSpliced(missing, missing < 20 ? 1 : 0)
    .map((row) => JSON.stringify(row))
    .join('\n');
}

it('says what a resume would lose, and writes a copy that loses nothing', async () => {
  const [log, copy] = [join(directory, 'log.jsonl'), join(directory, 'copy.jsonl')];
  const source = logWithout(12);
  writeFileSync(log, source);
  const { status, stdout } = await x(['doctor', 'log', log, '--write', copy]);
  expect(status).toBe(0);
  expect(stdout).toContain('claude-code, 19 messages');
  expect(stdout).toContain('When that agent resumes, it loses 12 messages');
  expect(readFileSync(log, 'utf8')).toBe(source);
  expect((await x(['doctor', 'log', copy])).stdout).toContain('reaches every message');
  expect((await x(['doctor', 'log', log, '--write', copy])).stderr).toContain('Name a new file');
});

it('has nothing to repair where rows name no parents', async () => {
  const log = join(directory, 'log.json');
  writeFileSync(log, JSON.stringify([{ role: 'user', content: 'Hi' }]));
  const { stderr, status } = await x(['doctor', 'log', log, '--write', join(directory, 'copy.json')]);
  expect([status, stderr]).toEqual([2, expect.stringContaining('nothing to repair')]);
});
