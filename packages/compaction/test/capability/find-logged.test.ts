import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Message, SessionKey, type SessionLog, userMessage } from '@x/core';
import { LocalWorkspace, WorkspaceSessionLog } from '@x/core/node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findLogged } from '../../src/capability/undo.js';

let root = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'find-logged-'));
});
afterEach(() => rm(root, { recursive: true, force: true, maxRetries: 20 }));

/** A log in a file, which counts how it is asked. */
function counted(): { log: SessionLog; asked: { gets: number; passes: number; yielded: number } } {
  const workspace = new LocalWorkspace(root);
  const file = new WorkspaceSessionLog(workspace, SessionKey.of({ agentId: 'a', sessionId: 's' }));
  const asked = { gets: 0, passes: 0, yielded: 0 };
  const log: SessionLog = {
    location: file.location,
    append: (messages) => file.append(messages),
    get(id) {
      asked.gets++;
      return file.get(id);
    },
    async *read(from) {
      asked.passes++;
      for await (const message of file.read(from)) {
        asked.yielded++;
        yield message;
      }
    },
  };
  return { log, asked };
}

const messagesOf = (count: number): Message[] =>
  Array.from({ length: count }, (_, index) => userMessage(`message ${index}`));
const idsOf = (messages: readonly Message[]) => new Set(messages.map(({ id }) => id));

describe('findLogged', () => {
  it('finds thousands of messages in one pass that ends with the last of them', async () => {
    const { log, asked } = counted();
    const messages = messagesOf(3_000);
    await log.append(messages);
    const wanted = messages.slice(0, 2_000);
    const found = await findLogged(idsOf(wanted), log);
    expect(wanted.map(({ id }) => found.get(id))).toEqual(wanted);
    expect(asked).toEqual({ gets: 0, passes: 1, yielded: 2_000 });
  });

  it('begins at the first of them, however long the log is before it', async () => {
    const { log, asked } = counted();
    const messages = messagesOf(3_000);
    await log.append(messages);
    const wanted = messages.slice(2_900, 2_950);
    expect([...(await findLogged(idsOf(wanted), log)).values()]).toEqual(wanted);
    expect(asked).toEqual({ gets: 0, passes: 1, yielded: 50 });
  });

  it('looks a few up without reading the log', async () => {
    const { log, asked } = counted();
    const messages = messagesOf(200);
    await log.append(messages);
    const found = await findLogged(idsOf([...messages.slice(-3), userMessage('never logged')]), log);
    expect([...found.values()]).toEqual(messages.slice(-3));
    expect(asked).toEqual({ gets: 4, passes: 0, yielded: 0 });
  });

  it('gives up a pass through a log that is far longer, and looks up the rest', async () => {
    const { log, asked } = counted();
    const messages = messagesOf(1_000);
    await log.append(messages);
    const wanted = [...messages.slice(0, 5), ...messages.slice(-15)];
    const found = await findLogged(idsOf(wanted), log);
    expect(wanted.map(({ id }) => found.get(id))).toEqual(wanted);
    expect(asked).toEqual({ gets: 15, passes: 1, yielded: 640 });
  });

  it('finds those that the log has before the first of them, such as what stayed behind a summary', async () => {
    const { log } = counted();
    const messages = messagesOf(60);
    await log.append(messages);
    const wanted = [messages[59] as Message, ...messages.slice(20, 50)];
    const found = await findLogged(idsOf(wanted), log);
    expect(wanted.map(({ id }) => found.get(id))).toEqual(wanted);
  });

  it('leaves out what the log lacks', async () => {
    const { log } = counted();
    const messages = messagesOf(30);
    await log.append(messages.slice(10));
    expect([...(await findLogged(idsOf(messages), log)).keys()]).toEqual([...idsOf(messages.slice(10))]);
    expect(await findLogged(new Set(), log)).toEqual(new Map());
  });
});
