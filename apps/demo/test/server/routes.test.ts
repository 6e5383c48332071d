import { SessionStoreError } from '@x/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ExpandedMessage, FilePart } from '../../src/page.js';
import { chat, longSession, survey } from '../fake-backend/scenarios.js';
import { transcriptOf } from '../transcript.js';
import { startServer } from './running-server.js';

let server: Awaited<ReturnType<typeof startServer>>;

beforeEach(async () => {
  server = await startServer();
});
afterEach(() => server.close());

async function errorOf(response: Response): Promise<{ code: string; message: string }> {
  return ((await response.json()) as { error: { code: string; message: string } }).error;
}

describe('what the page reads', () => {
  it('tells what answers', async () => {
    const response = await server.ask('/api/info');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await response.json()).toMatchObject({
      model: { id: 'embedded guide', embedded: true },
      triggerTokens: 19_200,
    });
  });

  it('lists sessions, the last used first, with the first thing that was said', async () => {
    server.backend.seed('old', (stage) => chat(stage, 'Of last week'), 7);
    server.backend.seed('new', (stage) => chat(stage, 'Of today'));
    const sessions = (await (await server.ask('/api/sessions')).json()) as { id: string }[];
    expect(sessions).toMatchObject([
      { id: 'new', title: 'Of today', running: false },
      { id: 'old', title: 'Of last week' },
    ]);
  });

  it('gives a transcript with all messages, fates and the window', async () => {
    server.backend.seed('long', longSession);
    const transcript = await transcriptOf(server.backend, 'long');
    const compactions = transcript.entries.flatMap((entry) =>
      entry.type === 'compaction' ? [entry.compaction] : [],
    );
    expect(compactions.map(({ status }) => status)).toEqual(['applied', 'ineffective', 'applied']);
    const last = compactions.at(-1);
    expect(Object.values(transcript.fates).map(({ fate }) => fate)).toContain('summarized');
    expect(last?.manifest.length).toBeGreaterThan(20);
    expect(transcript.context?.summary).toBeGreaterThan(0);
    expect(transcript.todos).toHaveLength(4);
    // The log is whole: what was removed is still there.
    const ids = new Set(transcript.entries.map((entry) => entry.id));
    expect(last?.manifest.every(({ messageId }) => ids.has(messageId))).toBe(true);
  });

  it('expands a message to the original and what the model sees', async () => {
    server.backend.seed('long', longSession);
    const transcript = server.backend.transcript('long');
    const masked = Object.entries(transcript.fates).find(([, { fate }]) => fate === 'masked')?.[0] ?? '';
    const gone = Object.entries(transcript.fates).find(([, { fate }]) => fate === 'summarized')?.[0] ?? '';
    const answer = async (id: string) =>
      (await (
        await server.ask(`/api/sessions/long/messages/${encodeURIComponent(id)}`)
      ).json()) as ExpandedMessage;
    expect(JSON.stringify((await answer(masked)).current)).toContain('ask again to see it');
    expect(await answer(gone)).toMatchObject({ original: { id: gone } });
    expect(await answer(gone)).not.toHaveProperty('current');
  });

  it('reads a file part by part', async () => {
    const part = async (query: string) =>
      (await (await server.ask(`/api/file?path=large.txt&length=100${query}`)).json()) as FilePart;
    const first = await part('');
    expect(first).toMatchObject({ path: 'large.txt', nextOffset: 100 });
    const second = await part('&offset=100');
    expect(second.text).not.toBe(first.text);
    expect((await server.ask('/api/file?path=new.md')).status).toBe(404);
    expect((await server.ask('/api/file?path=new.md&optional=yes')).status).toBe(204);
  });
});

describe('what the page asks for', () => {
  it('accepts a message to a session that does not exist yet, and answers why it refuses another', async () => {
    server.backend.hold('mid-stream');
    expect((await server.post('/api/sessions/fresh/messages', { text: 'How?' })).status).toBe(204);
    const second = await server.post('/api/sessions/fresh/messages', { text: 'And?' });
    expect(second.status).toBe(409);
    expect((await errorOf(second)).code).toBe('session_busy');
    expect((await server.post('/api/sessions/fresh/stop', {})).status).toBe(204);
  });

  it('compacts with and without instructions', async () => {
    server.backend.seed('long', (stage) => survey(stage, 'Survey it'));
    expect((await server.post('/api/sessions/long/compactions', { instructions: 'Keep names' })).status).toBe(
      204,
    );
    await expect
      .poll(async () => server.backend.transcript('long').entries.at(-1))
      .toMatchObject({
        type: 'compaction',
        compaction: { status: 'applied', detail: 'As asked: “Keep names”.' },
      });
  });

  it('takes the last compaction back, once', async () => {
    server.backend.seed('long', longSession);
    const path = '/api/sessions/long/compactions/last';
    expect((await server.ask(path, { method: 'DELETE' })).status).toBe(204);
    expect((await errorOf(await server.ask(path, { method: 'DELETE' }))).code).toBe('nothing_to_undo');
    const after = server.backend.transcript('long');
    expect(Object.values(after.fates).map(({ fate }) => fate)).not.toContain('summarized');
  });

  it('deletes', async () => {
    server.backend.seed('short', (stage) => chat(stage, 'Hello'));
    expect((await server.ask('/api/sessions/short', { method: 'DELETE' })).status).toBe(204);
    expect((await server.ask('/api/sessions/short')).status).toBe(404);
  });
});

describe('what it refuses', () => {
  it.each([
    ['an empty message', { text: '  ' }],
    ['no text', {}],
    ['an unknown key', { text: 'a', model: 'b' }],
    ['another type', { text: 3 }],
    ['no object', 'text'],
  ])('%s', async (_, body) => {
    const response = await server.post('/api/sessions/s/messages', body);
    expect(response.status).toBe(400);
    expect((await errorOf(response)).code).toBe('invalid_input');
  });

  it('a body that is no JSON, and one that does not say it is', async () => {
    const broken = { method: 'POST', body: '{', headers: { 'Content-Type': 'application/json' } };
    expect((await server.ask('/api/sessions/s/messages', broken)).status).toBe(400);
    for (const type of [
      'text/plain',
      'application/json-seq',
      'application/json.x',
      'text/application/json',
    ]) {
      const form = { method: 'POST', body: '{"text":"hi"}', headers: { 'Content-Type': type } };
      expect((await errorOf(await server.ask('/api/sessions/s/messages', form))).message).toContain(
        'Content-Type',
      );
    }
  });

  it('more than a mebibyte', async () => {
    const response = await server.post('/api/sessions/s/messages', { text: 'x'.repeat(1_100_000) });
    expect(response.status).toBe(413);
    expect((await errorOf(response)).code).toBe('too_large');
  });

  it('routes that do not exist, sessions that do not, offsets that are none', async () => {
    expect((await errorOf(await server.ask('/api/nothing'))).code).toBe('no_such_route');
    expect((await errorOf(await server.ask('/api/sessions/none'))).code).toBe('session_not_found');
    expect((await server.ask('/api/file?path=a&offset=-1')).status).toBe(400);
  });

  it('to tell what the inside of a failure looks like', async () => {
    const told: unknown[] = [];
    const failing = await startServer({ onError: (error) => told.push(error) });
    failing.backend.sessions = async () => {
      throw new Error('secret path /etc/shadow');
    };
    const response = await failing.ask('/api/sessions');
    expect(response.status).toBe(500);
    expect(await errorOf(response)).toEqual({
      code: 'internal',
      message: expect.not.stringContaining('secret'),
      issues: [],
    });
    const ours = new SessionStoreError('session_corrupt', 'secret key of a session');
    failing.backend.sessions = () => Promise.reject(ours);
    expect(await errorOf(await failing.ask('/api/sessions'))).toMatchObject({
      code: 'session_corrupt',
      message: expect.not.stringContaining('secret'),
    });
    expect(told).toEqual([expect.any(Error), ours]);
    await failing.close();
  });
});
