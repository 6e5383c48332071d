import { appendFile, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { type Message, SessionKey, type SessionLog } from '../../../src/index.js';
import { LocalWorkspace, WorkspaceSessionLog } from '../../../src/node.js';
import { CountingWorkspace } from '../../counting-workspace.js';
import { numbered } from '../../numbered.js';
import { temporaryDirectory } from '../../temporary-directory.js';
import { thrownBy } from '../../thrown-by.js';

// Disks that are busy take their time.
vi.setConfig({ testTimeout: 300_000 });

const key = SessionKey.of({ userId: 'Alice', agentId: 'a', sessionId: 's' });
const LOCATION = 'users/%41lice/agents/a/sessions/s.log.jsonl';

async function setUp() {
  const root = await temporaryDirectory();
  const workspace = new LocalWorkspace(root);
  return { workspace, file: join(root, LOCATION), log: new WorkspaceSessionLog(workspace, key) };
}

async function messagesOf(log: SessionLog, from?: string): Promise<Message[]> {
  const messages: Message[] = [];
  for await (const message of log.read(from)) messages.push(message);
  return messages;
}

describe('WorkspaceSessionLog', () => {
  test('says where it is, and is empty at first', async () => {
    const { log } = await setUp();
    expect(log.location).toBe(LOCATION);
    expect(await messagesOf(log)).toEqual([]);
    expect(await log.get('m0')).toBeUndefined();
  });

  test('keeps messages in order, one a line', async () => {
    const { log, file, workspace } = await setUp();
    await log.append(numbered(3));
    await log.append(numbered(2, 'n'));
    expect(await messagesOf(log)).toEqual([...numbered(3), ...numbered(2, 'n')]);
    expect(await messagesOf(new WorkspaceSessionLog(workspace, key))).toEqual(await messagesOf(log));
    expect((await readFile(file, 'utf8')).split('\n')).toHaveLength(6);
  });

  test('finds a message by its id', async () => {
    const { log, workspace } = await setUp();
    await log.append(numbered(100, 'é漢'));
    for (const each of [log, new WorkspaceSessionLog(workspace, key)]) {
      expect(await each.get('é漢57')).toEqual(numbered(100, 'é漢')[57]);
      expect(await each.get('absent')).toBeUndefined();
    }
  });

  test('numbers the messages that a user, a model or a tool wrote', async () => {
    const { log, file, workspace } = await setUp();
    const other = new WorkspaceSessionLog(workspace, key);
    const note: Message = { ...(numbered(1, 'note')[0] as Message), kind: 'synthetic' };
    const ids = ['m0', 'm2', 'note0', 'n0', 'n1', 'absent'];
    for (const messages of [numbered(2), [note, ...numbered(3)], numbered(1, 'n')])
      await log.append(messages);
    await other.append(numbered(2, 'n'));
    await log.append(numbered(1));
    const expected = [
      ['m0', 1],
      ['m2', 3],
      ['n0', 4],
      ['n1', 5],
    ];
    for (const each of [log, other, new WorkspaceSessionLog(workspace, key)])
      expect([...(await each.numbers(ids))]).toEqual(expected);
    await rm(file);
    await log.append(numbered(1, 'n'));
    expect([...(await log.numbers(ids))]).toEqual([['n0', 1]]);
  });

  test('keeps the numbers of a conversation if it was lost', async () => {
    const { log, file, workspace } = await setUp();
    const [request, kept, next] = numbered(3) as [Message, Message, Message];
    const metadata = { numbers: { last: 40, standing: { m0: 7 } } };
    const summary: Message = { ...kept, id: 'summary', kind: 'summary', metadata };
    const conversation = [request, summary, kept];
    const expected = [
      ['m0', 7],
      ['m1', 41],
      ['m2', 42],
    ];
    const ids = ['m0', 'm1', 'm2'];
    for (const isLost of [true, false]) {
      if (isLost) await rm(file, { force: true });
      log.continues(conversation);
      await log.append([next]);
      for (const each of [log, new WorkspaceSessionLog(workspace, key)])
        expect([...(await each.numbers(ids))]).toEqual(expected);
    }
    expect(await messagesOf(log)).toEqual([summary, request, kept, next]);
  });

  test('adds what it has already only once', async () => {
    const { log, workspace } = await setUp();
    await log.append(numbered(3));
    await log.append([...numbered(4), ...numbered(5)]);
    await new WorkspaceSessionLog(workspace, key).append(numbered(6));
    await log.append(numbered(7));
    await log.append([]);
    expect(await messagesOf(log)).toEqual(numbered(7));
  });

  test('takes appends at the same time one after the other', async () => {
    const { log } = await setUp();
    await Promise.all([log.append(numbered(3)), log.append(numbered(2)), log.append(numbered(5))]);
    expect(await messagesOf(log)).toEqual(numbered(5));
  });

  test('of several writers at once shows every message once', async () => {
    const { workspace } = await setUp();
    const logs = Array.from({ length: 4 }, () => new WorkspaceSessionLog(workspace, key));
    await Promise.all(
      logs.flatMap((log, writer) => [log.append(numbered(10)), log.append(numbered(10, `w${writer}-`))]),
    );
    for (const log of logs) {
      const ids = (await messagesOf(log)).map(({ id }) => id);
      expect(new Set(ids).size).toBe(50);
      expect(ids).toHaveLength(50);
      expect(await log.get('w2-7')).toEqual(numbered(10, 'w2-')[7]);
      expect(await log.get('m3')).toEqual(numbered(10)[3]);
    }
  });

  test('reads from a message on what a whole read has from there, also messages that two writers added', async () => {
    const { workspace } = await setUp();
    const logs = Array.from({ length: 4 }, () => new WorkspaceSessionLog(workspace, key));
    await Promise.all(
      logs.flatMap((log, writer) => [log.append(numbered(10)), log.append(numbered(10, `w${writer}-`))]),
    );
    for (const log of [...logs, new WorkspaceSessionLog(workspace, key)]) {
      const all = await messagesOf(log);
      for (const [index, { id }] of all.entries())
        expect(await messagesOf(log, id)).toEqual(all.slice(index));
      expect(await messagesOf(log, 'absent')).toEqual(all);
    }
  });

  test.each(['{"id":"torn","role":"us', 'x', '{"id":"m1"', Buffer.from('{"id":"é').subarray(0, 8)])(
    'leaves out a torn last line, and does not glue the next message to it: %s',
    async (torn) => {
      const { log, workspace, file } = await setUp();
      await log.append(numbered(1));
      await appendFile(file, torn);
      expect(await messagesOf(log)).toEqual(numbered(1));
      await log.append(numbered(2));
      await new WorkspaceSessionLog(workspace, key).append(numbered(3));
      expect(await messagesOf(log)).toEqual(numbered(3));
      expect(await log.get('m1')).toEqual(numbered(2)[1]);
      expect(await new WorkspaceSessionLog(workspace, key).get('m2')).toEqual(numbered(3)[2]);
    },
  );

  test('a message whose line lacks only its end counts once it is ended', async () => {
    const { log, file } = await setUp();
    await log.append(numbered(2));
    await truncate(file, (await readFile(file)).length - 1);
    expect(await messagesOf(log)).toEqual(numbered(1));
    await log.append(numbered(2));
    expect(await messagesOf(log)).toEqual(numbered(2));
    await log.append(numbered(3));
    expect(await messagesOf(log)).toEqual(numbered(3));
  });

  test('keeps notes beside the messages, found by each id, the later one first, by any process', async () => {
    const { log, workspace } = await setUp();
    await log.append(numbered(1), [{ ids: ['a', 'm0'], data: { n: 1 } }]);
    await log.append([], [{ ids: ['b'], data: { n: 2 } }]);
    await log.append(numbered(2), [{ ids: ['a'], data: { n: 3 } }]);
    for (const each of [log, new WorkspaceSessionLog(workspace, key)]) {
      expect(await messagesOf(each)).toEqual(numbered(2));
      expect(await each.note('a')).toEqual({ ids: ['a'], data: { n: 3 } });
      expect(await each.note('m0')).toEqual({ ids: ['a', 'm0'], data: { n: 1 } });
      expect(await each.get('m0')).toEqual(numbered(1)[0]);
      expect([await each.note('m1'), await each.get('b')]).toEqual([undefined, undefined]);
    }
  });

  test('passes over lines that are no messages', async () => {
    const { log, file } = await setUp();
    await log.append(numbered(1));
    await appendFile(file, '\nnull\n[]\n{"id":"x"}\n7\n');
    await log.append(numbered(2));
    expect(await messagesOf(log)).toEqual(numbered(2));
    expect(await log.get('x')).toBeUndefined();
  });

  test('begins anew when its file was deleted', async () => {
    const { log, file } = await setUp();
    await log.append(numbered(3));
    await rm(file);
    expect(await messagesOf(log)).toEqual([]);
    expect(await log.get('m1')).toBeUndefined();
    await log.append(numbered(2));
    expect(await messagesOf(log)).toEqual(numbered(2));
  });

  test('fails when it cannot be written, and goes on when it can again', async () => {
    const { log, workspace } = await setUp();
    await workspace.write('users', 'in the way');
    expect(await thrownBy(log.append(numbered(1)))).toMatchObject({ code: 'invalid_path' });
    await workspace.delete('users');
    await log.append(numbered(1));
    expect(await messagesOf(log)).toEqual(numbered(1));
  });

  test('holds lines longer than what is read at once', async () => {
    const { log, workspace } = await setUp();
    const [message] = numbered(1, 'large');
    const large: Message = {
      ...(message as Message),
      content: [{ type: 'text', text: 'é漢🦀'.repeat(400_000) }],
    };
    await log.append([...numbered(2), large, ...numbered(1, 'n')]);
    const found = await messagesOf(new WorkspaceSessionLog(workspace, key));
    expect(found.map(({ id }) => id)).toEqual(['m0', 'm1', 'large0', 'n0']);
    expect(JSON.stringify(found[2]) === JSON.stringify(large)).toBe(true);
    expect((await new WorkspaceSessionLog(workspace, key).get('n0'))?.id).toBe('n0');
  });

  test('costs what is added, however long it is', async () => {
    const { workspace } = await setUp();
    const counting = new CountingWorkspace(workspace);
    const log = new WorkspaceSessionLog(counting, key);
    await log.append(numbered(10_000));
    counting.bytesRead = 0;
    counting.bytesWritten = 0;
    await log.append(numbered(2, 'n'));
    await log.append(numbered(2, 'o'));
    await log.get('o1');
    expect(counting.bytesRead + counting.bytesWritten).toBeLessThan(1500);
    expect(await messagesOf(log)).toHaveLength(10_004);
  });

  test('gives back any message byte for byte', async () => {
    const { workspace } = await setUp();
    const json = fc.jsonValue({ noUnicodeString: false });
    const text = fc.string({
      unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    });
    const id = text.filter((id) => id !== '');
    const providerMetadata = fc.option(fc.dictionary(text, json), { nil: undefined });
    const block = fc.oneof(
      fc.record({ type: fc.constant('text'), text, providerMetadata }),
      fc.record({ type: fc.constant('thinking'), thinking: text, signature: text, providerMetadata }),
      fc.record({ type: fc.constant('tool_use'), id, name: text, input: json, providerMetadata }),
      fc.record({
        type: fc.constant('tool_result'),
        toolUseId: text,
        toolName: text,
        output: fc.array(fc.record({ type: fc.constant('text'), text })),
        isError: fc.boolean(),
      }),
      fc.record({ type: fc.constant('opaque'), provider: text, data: json }),
      fc.record({
        type: fc.constant('file'),
        mediaType: text,
        source: fc.record({ type: fc.constant('base64'), data: text }),
      }),
    );
    const message = fc.record({
      id,
      role: fc.constantFrom('system', 'user', 'assistant', 'tool'),
      content: fc.array(block, { maxLength: 3 }),
      createdAt: text,
      kind: fc.constantFrom(undefined, 'summary', 'synthetic'),
      metadata: providerMetadata,
    });
    let session = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(message as fc.Arbitrary<Message>, { selector: ({ id }) => id, maxLength: 5 }),
        async (messages) => {
          const log = new WorkspaceSessionLog(workspace, SessionKey.of(`s${session++}`));
          await log.append(messages);
          expect(JSON.stringify(await messagesOf(log))).toBe(JSON.stringify(messages));
          for (const each of messages) {
            expect(JSON.stringify(await log.get(each.id))).toBe(JSON.stringify(each));
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  test('survives a file that something else wrote', async () => {
    const { log, file, workspace } = await setUp();
    await workspace.write(LOCATION, '');
    await writeFile(file, Buffer.from([0xff, 0xfe, 0x0a, 0x00]));
    await log.append(numbered(1));
    expect(await messagesOf(log)).toEqual(numbered(1));
  });
});
