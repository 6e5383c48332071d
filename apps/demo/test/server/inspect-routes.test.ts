import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RequestView } from '../../src/page.js';
import { longSession } from '../fake-backend/scenarios.js';
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
