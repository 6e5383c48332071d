import { dirname } from 'node:path';
import { eraseUser, InMemorySession, type Model, readText, SessionKey, textOf, userMessage } from '@x/core';
import { WorkspaceSessionLog } from '@x/core/node';
import { describe, expect, it } from 'vitest';
import { MemoryService } from '../../src/index.js';
import { runChild, runUntil } from '../children/run-child.js';
import { factTaker, merger } from '../support/models.js';
import { consolidatorOf, flusherOf } from '../support/parts.js';
import { SIZE } from '../support/size.js';
import { logSession, storageIn, type TestWorkspace, testWorkspace } from '../support/test-context.js';
import { withoutLock } from '../support/without-lock.js';

describe('several processes', () => {
  it('add to one note, and flush one session, without losing or doubling a bullet', {
    timeout: 300_000,
  }, async () => {
    const workspace = await testWorkspace();
    const names = ['1', '2', '3'];
    const count = 12;
    const codes = await Promise.all(
      names.map((name) => runChild('flush-facts', workspace.root, name, `${count}`)),
    );
    expect(codes).toEqual([0, 0, 0]);
    const notes: string[] = [];
    for await (const { path } of workspace.list('users/alice/memory')) {
      if (path.endsWith('.md')) notes.push(Buffer.from(await workspace.read(path)).toString('utf8'));
    }
    const lines = notes.join('').split('\n');
    for (const line of lines)
      expect(line).toMatch(/^(?:- In call \d+: fact-\d+(?: <!-- model \S+ \S+ \S+ -->)?|)$/);
    const expected = names.flatMap((name) =>
      [0, 1].flatMap((index) =>
        Array.from(
          { length: count },
          (_, number) => `fact-${name}${index}${String(number).padStart(2, '0')}`,
        ),
      ),
    );
    expect(lines.flatMap((line) => line.match(/fact-\d+/g) ?? []).sort()).toEqual(expected.sort());
  });
});

it('of two processes that are killed again and again, no fact is lost and none doubled', {
  timeout: 600_000,
}, async () => {
  const workspace = await testWorkspace();
  const killed = async (slot: number) => {
    for (let kill = 0; kill < SIZE.kills / 2; kill++) {
      const name = `${slot}${String(kill).padStart(2, '0')}`;
      await runUntil(1 + ((kill * 5 + slot) % 7), 'flush-facts', workspace.root, name, '50');
    }
  };
  await Promise.all([killed(1), killed(2)]);
  const flusher = flusherOf({ workspace, model: factTaker() });
  const said: string[] = [];
  const prefix = 'users/alice/sessions/';
  for await (const { path } of workspace.list(prefix.slice(0, -1))) {
    const sessionId = path.slice(prefix.length, -'.log.jsonl'.length);
    const key = SessionKey.of({ userId: 'alice', sessionId });
    for await (const message of new WorkspaceSessionLog(workspace, key).read()) said.push(textOf(message));
    await flusher.flush(key);
  }
  expect(said.length).toBeGreaterThanOrEqual(SIZE.kills);
  let noted = '';
  for await (const { path } of workspace.list('users/alice/memory')) {
    if (path.endsWith('.md')) noted += await readText(workspace, path);
  }
  const lines = noted.split('\n').filter((line) => !line.endsWith('<!-- cut off -->'));
  expect(lines.flatMap((line) => line.match(/fact-\d+/g) ?? []).sort()).toEqual(said.sort());
});

it('processes that flush one session at once pay for each message once', async () => {
  const workspace = await testWorkspace();
  const parts = { userId: 'alice', sessionId: 's-1' };
  await logSession(workspace, parts, [userMessage('Remember fact-1.')]);
  const models = [factTaker(), factTaker()];
  const outcomes = await Promise.all(
    models.map((model) => {
      const storage = storageIn(dirname(workspace.root));
      return flusherOf({ workspace: storage, model }).flush(SessionKey.of(parts));
    }),
  );
  expect(models.flatMap(({ prompts }) => prompts)).toHaveLength(1);
  expect(outcomes.map(({ messages }) => messages).sort()).toEqual([0, 1]);
});

it('an automatic flush leaves its messages to a process that is reading the session', {
  timeout: 20_000,
}, async () => {
  const workspace = await testWorkspace();
  const parts = { userId: 'alice', sessionId: 's-1' };
  await logSession(workspace, parts, [userMessage('Remember fact-1.')]);
  const [reader, late] = [factTaker(), factTaker()];
  const slow: Model = {
    ...reader,
    async generate(request) {
      if (reader.prompts.length === 0) {
        await logSession(workspace, parts, [userMessage('Remember fact-2.')]);
        const other = flusherOf({ workspace: storageIn(dirname(workspace.root)), model: late });
        await other.flush(SessionKey.of(parts), { reason: 'turn' });
      }
      return reader.generate(request);
    },
  };
  const { bullets } = await flusherOf({ workspace, model: slow }).flush(SessionKey.of(parts));
  expect(bullets).toEqual(['In call 1: fact-1', 'In call 2: fact-2']);
  expect(late.prompts).toEqual([]);
});

it('a workspace that cannot exclude others is still safe within a process', async () => {
  const workspace = await testWorkspace();
  const lockless = withoutLock(workspace);
  const parts = { userId: 'alice', sessionId: 's-1' };
  const facts = Array.from({ length: 8 }, (_, index) => `fact-${index}`);
  await logSession(
    workspace,
    parts,
    facts.map((fact) => userMessage(`${fact} ${'word '.repeat(20)}`)),
  );
  const flushers = [1, 2, 3].map(() =>
    flusherOf({ workspace: lockless, model: { ...factTaker(), contextWindow: 120 } }),
  );
  await Promise.all(flushers.map((flusher) => flusher.flush(SessionKey.of(parts))));
  let text = '';
  for await (const { path } of workspace.list('users/alice/memory')) {
    if (path.endsWith('.md')) text += Buffer.from(await workspace.read(path)).toString('utf8');
  }
  expect(text.match(/fact-\d/g)?.sort()).toEqual(facts);
});

describe('what another process erases while a model reads it', () => {
  const alice = { userId: 'alice', agentId: 'coder' };
  /** A model whose every answer comes when its user is erased, and has said something since. */
  function late(model: Model, root: string): Model {
    return {
      ...model,
      async generate(request) {
        const storage = storageIn(dirname(root));
        await eraseUser({ session: new InMemorySession(), storage }, { userId: 'alice' });
        const service = new MemoryService({ workspace: storage });
        await service.erase({ userId: 'alice' });
        await service.close();
        await storage.write('users/alice/agents/coder/memory/2026-01-02.md', '- fact-9\n');
        return model.generate(request);
      },
    };
  }
  async function kept(workspace: TestWorkspace): Promise<string> {
    const texts: string[] = [];
    for await (const { path, type } of workspace.list('', { recursive: true }))
      if (type === 'file') texts.push(await readText(workspace, path));
    return texts.join('\n');
  }

  it('is not written again by a flush', async () => {
    const workspace = await testWorkspace();
    const key = { ...alice, sessionId: 's' };
    await logSession(workspace, key, [userMessage('Remember fact-1.')]);
    const flusher = flusherOf({ workspace, model: late(factTaker(), workspace.root) });
    expect(await flusher.flush(SessionKey.of(key))).toMatchObject({ status: 'flushed', bullets: [] });
    expect(await kept(workspace)).not.toContain('fact-1');
  });

  it('is not written again by a consolidation', async () => {
    const workspace = await testWorkspace();
    await workspace.write('users/alice/agents/coder/memory/2026-01-01.md', '- fact-1\n');
    const consolidator = consolidatorOf({ workspace, model: late(merger(), workspace.root) });
    expect(await consolidator.consolidate(alice)).toMatchObject({ status: 'conflict' });
    expect(await kept(workspace)).not.toContain('fact-1');
  });
});
