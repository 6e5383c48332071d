import { join } from 'node:path';
import { InMemoryStore, type Operation } from '@langchain/langgraph-checkpoint';
import { storageOf, WorkspaceError } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { MemoryService } from '../../src/index.js';
import { WorkspaceStore } from '../../src/langgraph/index.js';
import { CrashingWorkspace } from '../support/crashing-workspace.js';
import { temporaryDirectory, testWorkspace } from '../support/test-context.js';

async function openStore(options: Partial<ConstructorParameters<typeof WorkspaceStore>[0]> = {}) {
  const store = new WorkspaceStore({ workspace: await testWorkspace(), ...options });
  onTestFinished(() => store.stop());
  return store;
}

it('does what the store of LangGraph in memory does, whatever is put, deleted, filtered and listed', async () => {
  const label = fc.constantFrom('a', 'b', 'Ä/..', '.', '日本'.repeat(60));
  const namespace = fc
    .array(label, { minLength: 1, maxLength: 3 })
    .map((labels) => labels.map((one) => (one === '.' ? 'dot' : one.replace('..', 'up'))));
  const long = ['long'.repeat(99), '日'.repeat(120), '日'.repeat(121), '\ud83d'.repeat(90)];
  const key = fc.constantFrom('k', 'K', '../k', '', '%_', ...long);
  const value = fc.oneof(
    fc.record({ n: fc.nat(4), text: fc.constantFrom('red', 'green') }),
    fc.constant(JSON.parse('{"__proto__":{"n":1},"n":2}')),
  );
  const operation = fc.oneof(
    fc.record({ namespace, key, value: fc.option(value) }),
    fc.record({ namespace, key }),
    fc.record({
      namespacePrefix: namespace,
      filter: fc.constantFrom({}, { text: 'red' }, { n: { $gte: 2 } }, { n: { $ne: 1, $lt: 4 } }),
      limit: fc.constant(100),
      offset: fc.constant(0),
    }),
    fc.record({
      matchConditions: fc.array(
        fc.record({ matchType: fc.constantFrom('prefix' as const, 'suffix' as const), path: namespace }),
        { maxLength: 1 },
      ),
      maxDepth: fc.constantFrom(1, 2, 3),
      limit: fc.constant(100),
      offset: fc.constant(0),
    }),
  );
  const plain = (result: unknown) => {
    const rows = (Array.isArray(result) ? result : [result]).map((row) =>
      row === null || Array.isArray(row) || row === undefined
        ? (row ?? null)
        : { namespace: row.namespace, key: row.key, value: row.value },
    );
    return rows.map((row) => JSON.stringify(row)).sort();
  };
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 12 }), async (operations) => {
      const [ours, theirs] = [await openStore(), new InMemoryStore()];
      for (const one of operations as Operation[]) {
        // That store lists namespaces from which all was deleted, too.
        const isList =
          'matchConditions' in one && operations.some((other) => 'value' in other && !other.value);
        if (isList) continue;
        expect(plain((await ours.batch([one]))[0])).toEqual(plain((await theirs.batch([one]))[0]));
      }
    }),
    { numRuns: 40 },
  );
});

it('ranks items by their words, in any language, and sees what another process put, changed and deleted', async () => {
  const directory = await temporaryDirectory();
  const workspace = new LocalWorkspace(join(directory, 'workspace'));
  const store = await openStore({ workspace });
  const other = await openStore({ workspace: new LocalWorkspace(workspace.root) });
  await store.put(['alice', 'facts'], 'db', {
    text: 'Alice prefers PostgreSQL for new services',
    kind: 'tool',
  });
  await store.put(['alice', 'facts'], 'tea', { text: '会议改到星期五', kind: 'date' });
  await store.put(['bob'], 'db', { text: 'Bob prefers PostgreSQL' });
  const found = async (query: string, filter = {}) =>
    (await other.search(['alice'], { query, filter })).map(({ key }) => key);
  expect(await found('which database, postgres?')).toEqual(['db']);
  expect(await found('postgresql')).toEqual(['db']);
  expect(await other.search(['alice'], { limit: 0 })).toEqual([]);
  expect(await other.search(['alice'], { limit: 1, offset: 1 })).toHaveLength(1);
  expect(await found('星期五')).toEqual(['tea']);
  expect(await found('postgresql', { kind: 'date' })).toEqual([]);
  const [hit] = await store.search(['alice'], { query: 'services' });
  expect(hit).toMatchObject({ namespace: ['alice', 'facts'], score: expect.any(Number) });
  expect(hit?.updatedAt).toBeInstanceOf(Date);
  await store.put(['alice', 'facts'], 'db', { text: 'Alice prefers SQLite' }, false);
  await other.delete(['alice', 'facts'], 'tea');
  expect(await found('postgresql 星期五 sqlite')).toEqual([]);
  expect((await other.get(['alice', 'facts'], 'db'))?.value).toEqual({ text: 'Alice prefers SQLite' });
});

it('keeps users apart, goes with the user who is erased, and refuses what JSON cannot hold', async () => {
  const workspace = await testWorkspace();
  const [alice, bob] = [
    await openStore({ workspace, scope: { userId: 'alice' } }),
    await openStore({ workspace, scope: { userId: 'bob' } }),
  ];
  await alice.put(['facts'], 'k', { text: 'canary' });
  expect(await bob.get(['facts'], 'k')).toBeNull();
  expect(await bob.search([], { query: 'canary' })).toEqual([]);
  expect(await bob.listNamespaces()).toEqual([]);
  const memory = new MemoryService({ workspace, maintenance: false });
  onTestFinished(() => memory.close());
  expect(await memory.erase({ userId: 'alice' })).toMatchObject({ files: 1 });
  expect(await alice.get(['facts'], 'k')).toBeNull();
  for (const value of [{ at: new Date() }, { run: () => 1 }, { n: Number.NaN }]) {
    await expect(bob.put(['facts'], 'k', value)).rejects.toThrow(
      /value\.\w+: is .*, which JSON cannot represent|toJSON/,
    );
  }
  await expect(bob.put(['facts'], 'k', new Map() as never)).rejects.toThrow('value: is not a plain object');
  await expect(bob.put([], 'k', {})).rejects.toThrow('Namespace');
});

it('deletes items, and all data of a user, where there is no space for a lock', async () => {
  const workspace = new LocalWorkspace(await temporaryDirectory());
  const scope = { userId: 'alice' };
  const full = storageOf(new LocalWorkspace(workspace.root));
  full.lock = async (name) => {
    throw new WorkspaceError('workspace_io', name, 'The disk is full.');
  };
  const store = await openStore({ workspace, scope });
  for (const key of ['a', 'b']) await store.put(['facts'], key, { text: 'canary' });
  await (await openStore({ workspace: full, scope })).delete(['facts'], 'a');
  expect(await store.get(['facts'], 'a')).toBeNull();
  const memory = new MemoryService({ workspace: full, maintenance: false });
  onTestFinished(() => memory.close());
  expect(await memory.erase(scope)).toMatchObject({ files: 1 });
  expect(await store.get(['facts'], 'b')).toBeNull();
});

it('writes items at once: one does not wait for the lock of another', async () => {
  const workspace = await testWorkspace();
  let finish = () => {};
  const isOtherWritten = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let begin = () => {};
  const isWriting = new Promise<void>((resolve) => {
    begin = resolve;
  });
  let writes = 0;
  class SlowWorkspace extends CrashingWorkspace {
    override async write(path: string, data: string | Uint8Array) {
      begin();
      if (writes++ === 0) await isOtherWritten;
      await super.write(path, data);
    }
  }
  const store = await openStore({ workspace: new SlowWorkspace(workspace) });
  const waiting = store.put(['a'], 'slow', { n: 1 });
  await isWriting;
  await store.put(['a'], 'other', { n: 2 });
  finish();
  await waiting;
  expect(await store.search(['a'])).toHaveLength(2);
});
