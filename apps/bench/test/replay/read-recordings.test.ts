import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { toolUsesOf } from '@x/core';
import { contextText } from '@x/replay/internal';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readRecordings } from '../../src/replay/read-recordings.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'x-replay-'));
  for (const name of ['trajectories', 'probes']) mkdirSync(join(folder, name));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const conversation = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'look at src/a.ts' },
  { role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 'read', arguments: { path: 'src/a.ts' } }] },
  { role: 'tool', content: 'text', toolCallId: 'c', toolName: 'read' },
];

function write(file: string, value: unknown): void {
  const text = JSON.stringify(value);
  writeFileSync(join(folder, file), file.endsWith('.gz') ? gzipSync(text) : text);
}

function writeAll(messages: unknown = conversation): void {
  write('manifest.json', [
    { file: 'a.json', domain: 'coding', source: 'one' },
    { file: 'b.json', domain: 'support', source: 'two' },
  ]);
  write('trajectories/a.json.gz', { messages });
  write('trajectories/b.json.gz', { messages: conversation.slice(1) });
  write('probes/a.json.gz', {
    probes: [{ token: 'src/a.ts', callIndex: 2, lastIndex: 1, gapTokens: 2_500 }],
  });
}

it('takes the system prompt out of the messages, and moves the probes with them', () => {
  writeAll();
  const [first, second] = readRecordings(folder);
  expect(first).toMatchObject({
    name: 'a',
    domain: 'coding',
    source: 'one',
    system: 'Be brief.',
    probes: [{ token: 'src/a.ts', callIndex: 1, lastIndex: 0, gapTokens: 2_500 }],
  });
  expect(first?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  expect(toolUsesOf(first?.messages[1] as never)).toMatchObject([
    { name: 'read', input: { path: 'src/a.ts' } },
  ]);
  expect(second).toMatchObject({ system: '', probes: [] });
  expect(second?.messages.map(contextText)).toEqual(first?.messages.map(contextText));
});

it('gives messages the same ids in every run, and no two the same', () => {
  writeAll();
  const ids = () => readRecordings(folder).flatMap(({ messages }) => messages.map(({ id }) => id));
  expect(ids()).toEqual(ids());
  expect(new Set(ids()).size).toBe(6);
});

it('reads only the domains that are asked for', () => {
  writeAll();
  expect(readRecordings(folder, ['support']).map(({ name }) => name)).toEqual(['b']);
});

it('holds out every second project of a domain', () => {
  writeAll();
  write('manifest.json', [
    { file: 'a.json', domain: 'coding', source: 'two' },
    { file: 'b.json', domain: 'coding', source: 'one' },
  ]);
  expect(readRecordings(folder, [], 'fit').map(({ source }) => source)).toEqual(['one']);
  expect(readRecordings(folder, [], 'report').map(({ source }) => source)).toEqual(['two']);
});

it('names the file and the field that it cannot read', () => {
  writeAll([{ role: 'robot', content: '' }]);
  expect(() => readRecordings(folder)).toThrow(/trajectories\/a\.json\.gz[\s\S]*messages/);
});
