import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Message, toolResultsOf, toolUsesOf } from '@x/core';
import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import { readEvents } from './server/event-reader.js';
import { type Told, told } from './transcript.js';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const repository = fileURLToPath(new URL('../../../packages/session-redis', import.meta.url));

let directory: string;
let servers: ChildProcess[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'x-two-servers-'));
});
afterEach(() => {
  for (const server of servers) server.kill('SIGKILL');
  servers = [];
  rmSync(directory, { recursive: true, force: true, maxRetries: 20 });
});

/** Sends a request to a server, with a text to say something. */
type Ask = (path: string, text?: string) => Promise<Response>;

/** A server of its own process, on a Redis that it shares; answers its address. */
async function serve(
  name: string,
  database: string,
  repo = repository,
): Promise<{ ask: Ask; child: ChildProcess }> {
  const args = ['--conditions=@x/source', '--import', 'tsx', main, '--port', '0', '--repo', repo];
  const child = spawn(process.execPath, [...args, '--data', join(directory, name), '--redis', database], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
  });
  servers.push(child);
  let output = '';
  for await (const chunk of child.stdout) {
    output += chunk;
    const [, url, token] = /Open (\S+)\/\?token=(\S+)/.exec(output) ?? [];
    if (url === undefined) continue;
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const ask: Ask = (path, text) =>
      fetch(
        url + path,
        text === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify({ text }) },
      );
    return { ask, child };
  }
  throw new Error(`The server ended: ${output}`);
}

const transcriptOf = async (ask: Ask, session: string): Promise<Told | undefined> => {
  const answer = await ask(`/api/sessions/${session}/events`);
  if (!answer.ok) return undefined;
  const reader = readEvents(answer);
  const items = await reader.until('state');
  await reader.close();
  return told(items);
};

async function until<Value>(look: () => Promise<Value | undefined>): Promise<Value> {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const messagesOf = ({ messages }: Told): readonly Message[] => [...messages.values()];

it('goes on in another server on the same Redis when one is killed in the middle of an answer', {
  timeout: 120_000,
}, async () => {
  const database = `${inject('redisUrl')}/3`;
  const session = randomUUID();
  const [first, second] = [await serve('first', database), await serve('second', database)];

  const asked = await first.ask(`/api/sessions/${session}/messages`, 'survey this repository');
  expect(asked.status).toBe(204);
  await until(async () => {
    const transcript = await transcriptOf(first.ask, session);
    return transcript && transcript.modelCalls >= 8 ? transcript : undefined;
  });
  first.child.kill('SIGKILL');
  await once(first.child, 'exit');

  const finished = await until(async () => {
    const transcript = await transcriptOf(second.ask, session);
    const last = transcript && messagesOf(transcript).at(-1);
    const done =
      last?.role === 'assistant' && toolUsesOf(last).length === 0 && transcript?.call === undefined;
    return done ? transcript : undefined;
  });
  const messages = messagesOf(finished);
  expect(messages.filter(({ role }) => role === 'user')).toHaveLength(1);
  expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length);
  const calls = messages.flatMap((message) => toolUsesOf(message)).map(({ id }) => id);
  const results = messages.flatMap((message) => toolResultsOf(message)).map(({ toolUseId }) => toolUseId);
  expect(results.toSorted()).toEqual(calls.toSorted());
  const report = await second.ask('/api/file?path=REPORT.md');
  expect(((await report.json()) as { text: string }).text).toContain('## Conclusions');
});

it('shows in one server what is said in the other', async () => {
  writeFileSync(join(directory, 'note.md'), '# Note\n');
  const database = `${inject('redisUrl')}/4`;
  const session = randomUUID();
  const [first, second] = [
    await serve('first', database, directory),
    await serve('second', database, directory),
  ];
  for (const [index, { ask }] of [first, second].entries()) {
    await ask(`/api/sessions/${session}/messages`, `Question ${index}`);
    for (const other of [first, second]) {
      await until(async () => {
        const transcript = await transcriptOf(other.ask, session);
        const users = transcript ? messagesOf(transcript).filter(({ role }) => role === 'user') : [];
        const answered = transcript !== undefined && messagesOf(transcript).at(-1)?.role === 'assistant';
        return users.length === index + 1 && answered && transcript.call === undefined
          ? transcript
          : undefined;
      });
    }
  }
  const said = await until(async () => {
    const [left, right] = await Promise.all([first, second].map(({ ask }) => transcriptOf(ask, session)));
    const same = left && right && messagesOf(left).length === messagesOf(right).length;
    return same ? [messagesOf(left), messagesOf(right)] : undefined;
  });
  expect(said[0]).toEqual(said[1]);
});
