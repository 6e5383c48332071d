import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineTool, RuntimeContext } from '@x/core';
import { HarnessAgent, permissions } from '@x/harness';
import { ScriptedModel } from '@x/testkit';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { readYaml } from '../src/read-input.js';
import { x } from './support/run-command.js';

const start = process.cwd();
let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'x-init-'));
  process.chdir(directory);
  vi.stubEnv('HOME', directory);
  vi.stubEnv('OPENAI_BASE_URL', '');
});
afterEach(() => {
  process.chdir(start);
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true, force: true });
});

const ALLOWED = [
  'ls',
  'ls src',
  'ls -la src',
  'git status',
  'git status --short',
  'git log --oneline -3',
  'git diff',
  'git diff --stat',
  'git status && git diff',
  'npm test',
];
const ASKED = [
  'git log --output=f',
  'git diff --output=f',
  'git diff --ext-diff',
  'git -c core.pager=x log',
  'git push',
  'ls; rm a',
  'ls > a',
  'ls $(rm a)',
  'cat /etc/passwd',
  'git diff --no-index /dev/null /etc/passwd',
];

it('writes a file whose agent looks around without approval, and does nothing else', async () => {
  await x(['init']);
  const config = (await readYaml('agent.yaml')) as { readonly permissions: { readonly allow: string[] } };
  const execute = defineTool({
    name: 'execute',
    description: 'Runs a command.',
    input: z.strictObject({ command: z.string() }),
    execute: () => 'done',
  });
  const input = [...ALLOWED, ...ASKED].map((command) => ({ name: 'execute', input: { command } }));
  const agent = HarnessAgent.builder()
    .model(new ScriptedModel([{ toolCalls: input }]))
    .workspace(directory)
    .tools(execute)
    .use(permissions(config.permissions))
    .build();
  const { pendingCalls } = await agent.call('Go', RuntimeContext.of({ sessionId: 's-1' }));
  expect(pendingCalls.map((call) => Object(call.input).command)).toEqual(ASKED);
  await agent.close();
});
