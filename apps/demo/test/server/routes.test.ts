import { SessionStoreError } from '@x/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RequestView, SessionSummary } from '../../src/page.js';
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
    const { compactions } = transcript;
    expect(compactions.map(({ status }) => status)).toEqual(['applied', 'ineffective', 'applied']);
    const last = compactions.at(-1);
    expect([...transcript.fates.values()].map(({ word }) => word)).toContain('summarized');
    expect(last?.manifest.length).toBeGreaterThan(20);
    expect(transcript.places.at(-1)?.context.summary).toBeGreaterThan(0);
    expect(transcript.todos).toHaveLength(4);
    // The log is whole: what was removed is still there.
    expect(last?.manifest.every(({ messageId }) => transcript.messages.has(messageId))).toBe(true);
  });

  it('shows what the model saw in a request, and what a compaction changed', async () => {
    server.backend.seed('long', longSession);
    const { places } = server.backend.transcript('long');
    const at = async (place: number) =>
      (await (await server.ask(`/api/sessions/long/request?place=${place}`)).json()) as RequestView;
    expect((await at(1)).messages).toHaveLength(1);
    const compactions = places.flatMap(({ compaction }, index) =>
      compaction?.status === 'applied' ? [index + 1] : [],
    );
    const [shortened, summarized] = [await at(compactions[0] ?? 0), await at(compactions[1] ?? 0)];
    const changed = shortened.messages.filter(({ change }) => change === 'changed');
    expect(changed[0]?.text).toContain('ask again to see it');
    expect(changed[0]?.before?.length).toBeGreaterThan(changed[0]?.text.length ?? 0);
    expect(changed.at(-1)?.label).toMatch(/^Result: read_file \S+/);
    expect(summarized.removed.length).toBeGreaterThan(20);
    expect(summarized.messages.filter(({ change }) => change === 'added')).toMatchObject([
      { source: 'summary', label: 'Summary of what was removed' },
    ]);
    expect((await server.ask(`/api/sessions/long/request?place=${places.length + 1}`)).status).toBe(404);
  });

  it('searches conversations by what was said', async () => {
    server.backend.seed('a', (stage) => chat(stage, 'Of ports'));
    server.backend.seed('b', (stage) => chat(stage, 'Of windows'));
    const found = (await (await server.ask('/api/sessions?query=ports')).json()) as SessionSummary[];
    expect(found).toMatchObject([{ id: 'a', found: { text: 'Of ports' } }]);
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
      .poll(async () => server.backend.transcript('long').compactions.at(-1))
      .toMatchObject({ status: 'applied', message: 'As asked: “Keep names”.' });
  });

  it('takes the last compaction back, once', async () => {
    server.backend.seed('long', longSession);
    const path = '/api/sessions/long/compactions/last';
    expect((await server.ask(path, { method: 'DELETE' })).status).toBe(204);
    expect((await errorOf(await server.ask(path, { method: 'DELETE' }))).code).toBe('nothing_to_undo');
    const after = server.backend.transcript('long');
    expect([...after.fates.values()].map(({ word }) => word)).not.toContain('summarized');
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
