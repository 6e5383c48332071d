import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toolResultEviction } from '@x/compaction';
import type { AgentEventBody } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { generateText, stepCountIs, tool } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { evictingTools } from '../../src/index.js';
import { answer } from '../support/mock-model.js';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'x-evicting-'));
});
afterEach(() => rm(directory, { recursive: true, maxRetries: 20 }));

const LINES = Array.from({ length: 4_000 }, (_, line) => `line ${line + 1} of the log`).join('\n');
const tools = {
  log: tool({ inputSchema: z.object({}), execute: async () => LINES }),
  table: tool({ inputSchema: z.object({}), execute: async () => ({ rows: LINES.split('\n') }) }),
  shot: tool({
    inputSchema: z.object({}),
    execute: async () => LINES,
    toModelOutput: ({ output }) => ({
      type: 'content' as const,
      value: [
        { type: 'image-data' as const, data: 'AAAA', mediaType: 'image/png' },
        { type: 'text' as const, text: output },
      ],
    }),
  }),
  small: tool({ inputSchema: z.object({}), execute: async () => ({ ok: true }) }),
};

const wrap = (events: AgentEventBody[] = []) =>
  evictingTools(tools, {
    workspace: new LocalWorkspace(directory),
    eviction: toolResultEviction({ maxResultChars: 10_000, previewChars: 500 }),
    session: { userId: 'alice', sessionId: 's-001' },
    onEvent: (event) => void events.push(event),
  });

it('shows the model a pointer, keeps the result whole for the application, and reads it back', async () => {
  const events: AgentEventBody[] = [];
  const model = new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      const results = prompt.filter(({ role }) => role === 'tool');
      if (results.length === 0) return answer({ tool: 'log', id: '1', input: {} });
      const path = /written to (\S+):/.exec(JSON.stringify(results[0]))?.[1];
      if (results.length > 1) return answer('Found it.');
      return answer({ tool: 'read_file', id: '2', input: { path, line: 3_000, lines: 2 } });
    },
  });
  const result = await generateText({ model, tools: wrap(events), stopWhen: stepCountIs(5), prompt: 'Look' });
  expect(result.text).toBe('Found it.');
  expect(result.steps[0]?.toolResults[0]?.output).toBe(LINES);
  const [, second, third] = model.doGenerateCalls.map(({ prompt }) => JSON.stringify(prompt));
  expect(second?.length).toBeLessThan(3_000);
  expect(second).toContain('line 4000 of the log');
  expect(third).toContain(
    'line 3000 of the log\\nline 3001 of the log\\n[… the file has 4000 lines: read on from line 3002]',
  );
  expect(events).toMatchObject([{ type: 'tool.evicted', toolUseId: '1', chars: LINES.length }]);
});

it('evicts objects and texts beside images, and leaves small results as they are', async () => {
  const wrapped = wrap();
  const call = { toolCallId: '1', input: {} };
  type Output = { toModelOutput(call: object): Promise<unknown> };
  const told = (name: keyof typeof tools, output: unknown) =>
    (wrapped[name] as unknown as Output).toModelOutput({ ...call, output });
  expect(await told('table', { rows: LINES.split('\n') })).toMatchObject({
    type: 'text',
    value: expect.stringContaining('read_file'),
  });
  expect(await told('shot', LINES)).toMatchObject({
    type: 'content',
    value: [
      { type: 'text', text: expect.stringContaining('read_file') },
      { type: 'image-data', data: 'AAAA', mediaType: 'image/png' },
    ],
  });
  expect(await told('small', { ok: true })).toEqual({ type: 'json', value: { ok: true } });
  expect(await told('small', undefined)).toEqual({ type: 'json', value: null });
});

it('keeps the result whole when it cannot be written', async () => {
  const events: AgentEventBody[] = [];
  const workspace = new LocalWorkspace(directory);
  const full = { write: () => Promise.reject(new Error('disk full')) };
  const wrapped = evictingTools(tools, {
    workspace: Object.assign(Object.create(workspace) as LocalWorkspace, full),
    eviction: toolResultEviction({ maxResultChars: 10_000, previewChars: 500 }),
    onEvent: (event) => void events.push(event),
  });
  const { toModelOutput } = wrapped.log as unknown as { toModelOutput(call: object): Promise<unknown> };
  expect(await toModelOutput({ toolCallId: '1', input: {}, output: LINES })).toEqual({
    type: 'text',
    value: LINES,
  });
  expect(events).toMatchObject([{ type: 'warning', message: expect.stringContaining('disk full') }]);
});

it('pages within a long line without losing a character', async () => {
  const workspace = new LocalWorkspace(directory);
  const text = `first\n${'0123456789'.repeat(5_000)}\nlast`;
  await workspace.write('long.txt', text);
  const { execute } = wrap().read_file;
  let read = '';
  let position = { line: 1, column: 1 };
  for (let page = 0; page < 10; page++) {
    const answered = await execute({ path: 'long.txt', lines: 200, ...position });
    const hint = /\n\[… the file has 3 lines: read on from line (\d+)(?:, column (\d+))?\]$/.exec(answered);
    read += hint === null ? answered : answered.slice(0, hint.index);
    if (hint === null) break;
    position = { line: Number(hint[1]), column: Number(hint[2] ?? 1) };
  }
  expect(read).toBe(text);
  expect(await execute({ path: '../secret', line: 1, lines: 1, column: 1 })).toContain(
    'Cannot read ../secret',
  );
});

it('leaves a read_file of the application alone, and refuses what is no eviction', () => {
  const workspace = new LocalWorkspace(directory);
  const own = tool({ description: 'Mine', inputSchema: z.object({}), execute: async () => 'mine' });
  const wrapped = evictingTools({ read_file: own }, { workspace, eviction: toolResultEviction() });
  expect(wrapped.read_file).toMatchObject({ description: 'Mine' });
  expect(() => evictingTools({}, { workspace, eviction: { name: 'none' } })).toThrow('aroundTool');
});
