import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { textOf, toolUsesOf } from '@x/core';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readRecordings } from '../src/read-recordings.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'x-replay-'));
  mkdirSync(join(folder, 'trajectories'));
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
    { file: 'a.json', domain: 'coding' },
    { file: 'b.json', domain: 'support' },
  ]);
  write('trajectories/a.json.gz', { messages });
  write('trajectories/b.json.gz', { messages: conversation.slice(1) });
}

it('takes the system prompt out of the messages', () => {
  writeAll();
  const [first, second] = readRecordings(folder);
  expect(first).toMatchObject({ domain: 'coding' });
  expect(first?.conversation).toMatchObject({ id: 'a', system: 'Be brief.' });
  const messages = first?.conversation.messages ?? [];
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  expect(toolUsesOf(messages[1] as never)).toMatchObject([{ name: 'read', input: { path: 'src/a.ts' } }]);
  expect(second?.conversation.system).toBe('');
  expect(second?.conversation.messages.map(textOf)).toEqual(messages.map(textOf));
});

it('gives messages the same ids in every run, and no two the same', () => {
  writeAll();
  const ids = () =>
    readRecordings(folder).flatMap(({ conversation }) => conversation.messages.map(({ id }) => id));
  expect(ids()).toEqual(ids());
  expect(new Set(ids()).size).toBe(6);
});

it('names the file and the field that it cannot read', () => {
  writeAll([{ role: 'robot', content: '' }]);
  expect(() => readRecordings(folder)).toThrow(/trajectories\/a\.json\.gz[\s\S]*messages/);
});
