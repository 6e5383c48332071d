import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RequestView } from '../../src/page.js';
import { longSession } from '../fake-backend/scenarios.js';
import { recordedLog } from '../web/recorded-log.js';
import { startServer } from './running-server.js';

let server: Awaited<ReturnType<typeof startServer>>;

beforeEach(async () => {
  server = await startServer();
  server.backend.seed('long', longSession);
});
afterEach(() => server.close());

const read = async <Answer>(response: Response) => (await response.json()) as Answer;

describe('the window', () => {
  it('is told message by message, in tokens', async () => {
    const view = await read<RequestView>(await server.ask('/api/sessions/long/request'));
    expect(new Set(view.messages.map(({ source }) => source))).toEqual(
      new Set(['summary', 'conversation', 'toolResults']),
    );
    expect(Math.min(...view.messages.map(({ tokens }) => tokens))).toBeGreaterThan(0);
  });
});

describe('a replay', () => {
  const log = JSON.stringify([
    { role: 'user', content: 'Which port does config/server.yaml set?' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        {
          id: 'c',
          type: 'function',
          function: { name: 'read_file', arguments: '{"path":"config/server.yaml"}' },
        },
      ],
    },
    { role: 'tool', tool_call_id: 'c', content: 'port: 8080' },
    { role: 'assistant', content: 'It sets port 8080.' },
  ]);
  const replay = (body: string, query = '', headers = { 'Content-Type': 'application/octet-stream' }) =>
    server.ask(`/api/replay${query}`, { method: 'POST', body, headers });

  it('compares strategies at a window and prices', async () => {
    const report = await (await replay(log, '?window=64000&input=2&output=8')).text();
    expect(report).toContain('a window of 64.0k tokens');
    expect(report).toContain('openai-chat · 4 messages');
    const rows = [...report.matchAll(/<th scope="row">(.*?)<\/th>/g)].map(([, name]) => name);
    expect(new Set(rows)).toEqual(new Set(['everything', 'tail-20', 'mask-5', 'mask-then-tail', 'ours']));
  });

  it('chooses a window in which something is due where none is given', async () => {
    const report = await (await replay(recordedLog(60), '')).text();
    expect(report).toMatch(/a window of [\d.]+k tokens/);
    expect(report).not.toContain('a window of 128.0k tokens');
  });

  it.each([
    ['what is no log', 'hello', '', 400],
    ['a window that is none', log, '?window=1', 400],
    ['a price below 0', log, '?input=-1', 400],
    ['a log of more than 32 MiB', ' '.repeat(34_000_000), '', 413],
  ])('refuses %s', async (_, body, query, status) => {
    expect((await replay(body, query)).status).toBe(status);
  });

  it('refuses what a form of another site could send', async () => {
    expect((await replay(log, '', { 'Content-Type': 'text/plain' })).status).toBe(400);
    const foreign = { 'Content-Type': 'application/octet-stream', Origin: 'https://evil.example' };
    expect((await replay(log, '', foreign)).status).toBe(403);
  });
});
