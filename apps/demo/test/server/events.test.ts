import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chat } from '../fake-backend/scenarios.js';
import { type EventReader, readEvents } from './event-reader.js';
import { startServer } from './running-server.js';

let server: Awaited<ReturnType<typeof startServer>>;
let readers: EventReader[];

beforeEach(async () => {
  server = await startServer();
  server.backend.seed('s', (stage) => chat(stage, 'Hello'));
  readers = [];
});
afterEach(async () => {
  for (const reader of readers) await reader.close();
  await server.close();
});

async function follow(): Promise<EventReader> {
  const reader = readEvents(await server.ask('/api/sessions/s/events'));
  readers.push(reader);
  return reader;
}

describe('an event stream', () => {
  it('greets, gives the history and the state, then what happens', async () => {
    const events = await follow();
    expect((await events.next()).event).toBe('ping');
    const [history, state] = await events.until('state');
    expect(history).toMatchObject({ type: 'history', events: expect.any(Array) });
    expect(state).toMatchObject({ state: { running: false, todos: [] } });
    await server.backend.send('s', 'How does a compaction work?');
    const told = await events.until('call.completed');
    expect(told[0]).toMatchObject({ type: 'call.started' });
    expect(told.map(({ type }) => type)).toContain('text.delta');
    // Whoever comes back begins with all of it.
    const [again] = await (await follow()).until('history');
    const kept = told.filter(({ type }) => type !== 'state' && !type.endsWith('.delta'));
    expect(again?.type === 'history' && again.events.slice(-kept.length)).toEqual(kept);
  });

  it('is refused for a session that does not exist', async () => {
    const response = await server.ask('/api/sessions/none/events');
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: 'session_not_found' } });
  });

  it('gives a sign of life while nothing happens', async () => {
    const events = await follow();
    await events.until('state');
    expect((await events.next()).event).toBe('ping');
    expect((await events.next()).event).toBe('ping');
  });

  it('warns of no leak, however many there are', async () => {
    const warnings: string[] = [];
    const note = ({ name }: Error) => warnings.push(name);
    process.on('warning', note);
    for (let at = 0; at < 15; at++) await (await follow()).until('state');
    process.off('warning', note);
    expect(warnings).toEqual([]);
  });

  it('ends for the backend when the reader goes away', async () => {
    let ended = false;
    const { events } = server.backend;
    server.backend.events = async function* (id, signal) {
      try {
        yield* events.call(server.backend, id, signal);
      } finally {
        ended = true;
      }
    };
    const reader = await follow();
    await reader.until('state');
    await reader.close();
    await expect.poll(() => ended).toBe(true);
  });

  it('ends when the server closes', async () => {
    const events = await follow();
    await events.next();
    const ended = events.ended();
    await server.close();
    expect(await ended).toBe(true);
  });
});
