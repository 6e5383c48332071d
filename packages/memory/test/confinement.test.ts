import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type Capability, type JsonObject, type SessionKeyParts, userMessage } from '@x/core';
import { fileSegment } from '@x/core/store';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MemoryIndex, memory, sessionHistory } from '../src/index.js';
import { scopePrefix } from '../src/memory-scope.js';
import {
  logSession,
  runTool,
  type TestWorkspace,
  temporaryDirectory,
  testWorkspace,
  toolContext,
} from './support/test-context.js';

/** Ids that a careless encoding would let meet, or lead somewhere. */
const NAMES = [
  'alice',
  'Alice',
  'ALICE',
  'alice/',
  'alice/../bob',
  '../bob',
  '..',
  '.',
  '%61lice',
  '%2e%2e',
  'al\u0131ce',
  'ali\u0301ce',
  'alíce',
  'ａｌｉｃｅ',
  'alice\0',
  'alice ',
  'users/alice',
  'con',
  'a'.repeat(400),
  '*',
  '%',
];

async function secretWorkspace(): Promise<TestWorkspace> {
  const workspace = await testWorkspace();
  for (const [number, userId] of NAMES.entries()) {
    const parts: SessionKeyParts = { userId, agentId: 'coder', sessionId: `session-${number}` };
    await logSession(workspace, parts, [userMessage(`needle secret-${number}.`)]);
    await workspace.write(`${scopePrefix(parts)}MEMORY.md`, `needle secret-${number}.`);
    await workspace.write(`${scopePrefix(parts)}memory/2026-01-01.md`, `needle secret-${number}.`);
  }
  return workspace;
}

function capabilities(index: MemoryIndex): readonly Capability[] {
  const made = [memory({ index, maintenance: false }), sessionHistory()];
  onTestFinished(async () => {
    for (const capability of made) await capability.close?.();
  });
  return made;
}

async function openIndex(): Promise<MemoryIndex> {
  const index = await MemoryIndex.open(join(await temporaryDirectory(), 'index.db'));
  onTestFinished(() => index.close());
  return index;
}

const answer = (
  capability: Capability,
  name: string,
  input: JsonObject,
  ...rest: Parameters<typeof toolContext>
) => runTool(capability, name, input, toolContext(...rest)).catch((error: unknown) => String(error));

describe('the tools of one user', () => {
  it('find what is its own, and nothing of users whose names are nearly the same', async () => {
    const workspace = await secretWorkspace();
    const all = capabilities(await openIndex());
    for (const [number, userId] of NAMES.entries()) {
      const parts = { userId, agentId: 'coder', sessionId: 'now' };
      for (const capability of all) {
        for (const tool of capability.tools ?? []) {
          const { name } = tool.definition;
          if (!name.endsWith('_search')) continue;
          const text = await answer(capability, name, { query: 'needle', limit: 50 }, workspace, parts);
          expect([...new Set(text.match(/secret-\d+/g))]).toEqual([`secret-${number}`]);
        }
      }
    }
  });

  it('give nothing of others, whatever a model asks for', async () => {
    const workspace = await secretWorkspace();
    const [remembering, plain] = capabilities(await openIndex());
    const alice = { userId: 'alice', agentId: 'coder', sessionId: 'now' };
    const part = fc.constantFrom(
      ...['..', '.', '', '/', '\\', '\0', 'users', 'agents', 'coder', 'sessions', 'memory', 'MEMORY.md'],
      ...['memory.md', 'Memory/2026-01-01.md', '2026-01-01.md', 'session-1', 'session-1.log.jsonl', '%2e%2e'],
      ...NAMES.map((name) => name.slice(0, 20)),
      ...NAMES.map((name) => fileSegment(name)),
    );
    const path = fc.oneof(
      fc.array(part, { minLength: 1, maxLength: 8 }).map((parts) => parts.join('/') || '/'),
      fc.string({ unit: 'binary', minLength: 1 }),
      fc.constantFrom(...NAMES.map((name) => `memory/../../../${fileSegment(name)}/agents/coder/MEMORY.md`)),
      fc.constantFrom(...NAMES.map((name) => `${scopePrefix({ userId: name, agentId: 'coder' })}MEMORY.md`)),
    );
    const foreign = /secret-(?!0\b)\d+/;
    await fc.assert(
      fc.asyncProperty(path, async (asked) => {
        for (const [capability, name, input] of [
          [remembering, 'memory_get', { path: asked }],
          [remembering, 'memory_search', { query: `needle ${asked}`.slice(0, 1_000) }],
          [plain, 'session_history', { sessionId: asked }],
          [plain, 'session_history', { messageId: asked }],
          [plain, 'session_search', { query: `needle ${asked}`.slice(0, 1_000) }],
          [plain, 'session_search', { query: 'needle', sessionId: asked }],
        ] as const) {
          if (capability === undefined) throw new Error('not made');
          expect(await answer(capability, name, input, workspace, alice)).not.toMatch(foreign);
        }
      }),
      { numRuns: 40 },
    );
  });

  it('do not follow links to what lies elsewhere', async () => {
    const workspace = await secretWorkspace();
    const outside = await temporaryDirectory();
    const other = await testWorkspace();
    await other.write('notes.md', 'needle secret-99.');
    const alice = { userId: 'alice', agentId: 'coder', sessionId: 'now' };
    const folder = join(workspace.root, scopePrefix(alice), 'memory');
    await mkdir(folder, { recursive: true });
    await symlink(join(other.root, 'notes.md'), join(folder, 'link.md'));
    await symlink(other.root, join(folder, 'linked'));
    await symlink(outside, join(workspace.root, scopePrefix(alice), 'sessions', 'x.log.jsonl'));
    const [remembering, plain] = capabilities(await openIndex());
    for (const [capability, name, input] of [
      [remembering, 'memory_get', { path: 'memory/link.md' }],
      [remembering, 'memory_get', { path: 'memory/linked/notes.md' }],
      [remembering, 'memory_search', { query: 'needle' }],
      [plain, 'session_search', { query: 'needle' }],
      [plain, 'session_list', {}],
    ] as const) {
      if (capability === undefined) throw new Error('not made');
      expect(await answer(capability, name, input, workspace, alice)).not.toContain('secret-99');
    }
    const found = await answer(
      remembering as Capability,
      'memory_search',
      { query: 'needle' },
      workspace,
      alice,
    );
    expect(found).toContain('secret-0');
  });

  it('save into its own files alone, whatever is saved', async () => {
    const workspace = await testWorkspace();
    const [remembering] = capabilities(await openIndex());
    const [first, ...others] = NAMES.map((userId) => ({ userId, agentId: 'coder', sessionId: 's' }));
    if (remembering === undefined || first === undefined) throw new Error('not made');
    const content = '../../../x/MEMORY.md\n# needle\0';
    expect(await answer(remembering, 'memory_save', { content }, workspace, first)).toContain('Saved in');
    for (const other of others) {
      const text = await answer(remembering, 'memory_search', { query: 'needle' }, workspace, other);
      expect(text).toBe('Nothing found.');
    }
  });
});

describe('a history', () => {
  it('finds the best messages of all sessions, and of the current one', async () => {
    const workspace = await testWorkspace();
    const parts = { userId: 'alice', agentId: 'coder' };
    await logSession(workspace, { ...parts, sessionId: 'monday' }, [
      userMessage('Which database?'),
      userMessage('PostgreSQL for billing'),
    ]);
    await logSession(workspace, { ...parts, sessionId: 'now' }, [userMessage('billing again')]);
    const [, history] = capabilities(await openIndex());
    if (history === undefined) throw new Error('not made');
    const now = { ...parts, sessionId: 'now' };
    const found = await answer(history, 'session_search', { query: 'postgresql billing' }, workspace, now);
    expect(found).toMatch(
      /^1 to 2, the best first\.\n\nsession "monday" #2, \d{4}-\d\d-\d\d\nPostgreSQL for billing/,
    );
    const own = await answer(
      history,
      'session_search',
      { query: 'billing', sessionId: 'now' },
      workspace,
      now,
    );
    expect(own).toMatch(/^1 to 1, the best first\.\n\nsession "now" #1, /);
    const first = await answer(history, 'session_search', { query: 'billing', limit: 1 }, workspace, now);
    expect(first).toContain('More: the same query with offset 1.');
  });
});
