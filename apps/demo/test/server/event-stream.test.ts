import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chat, survey } from '../fake-backend/scenarios.js';
import { type EventReader, readEvents } from './event-reader.js';
import { startServer } from './running-server.js';

let server: Awaited<ReturnType<typeof startServer>>;
let readers: EventReader[];

beforeEach(async () => {
  server = await startServer();
  readers = [];
});
afterEach(async () => {
  for (const reader of readers) await reader.close();
  await server.close();
});

async function follow(after: Readonly<Record<string, string>>): Promise<EventReader> {
  const reader = readEvents(
    await server.ask(`/api/events?after=${encodeURIComponent(JSON.stringify(after))}`),
  );
  readers.push(reader);
  return reader;
}

describe('an event stream', () => {
  it('greets, then tells what happens, each event with its id', async () => {
    server.backend.seed('s', (stage) => chat(stage, 'Hello'));
    const { lastEventId } = await server.backend.transcript('s');
    const events = await follow({ s: lastEventId });
    expect((await events.next()).event).toBe('ping');
    await server.backend.send('s', 'How does a compaction work?');
    const told = await events.until('call.completed');
    expect(told[0]).toMatchObject({ type: 'call.started', sessionId: 's' });
    expect(told.map(({ type }) => type)).toContain('text.delta');
    expect(new Set(events.ids).size).toBe(events.ids.length);
  });

  it('resumes after the last event that a page saw, and misses and repeats none', async () => {
    server.backend.seed('s', (stage) => survey(stage, 'Survey it'));
    const { lastEventId } = await server.backend.transcript('s');
    await server.backend.send('s', 'And now?');
    const whole = await follow({ s: lastEventId });
    const all = await whole.until('call.completed');
    const middle = whole.ids[5] ?? '';

    const rest = await follow({ s: middle });
    expect(await rest.until('call.completed')).toEqual(all.slice(6));
  });

  it('tells of several sessions at once, each from where its reader is', async () => {
    server.backend.seed('a', (stage) => chat(stage, 'Hello'));
    server.backend.seed('b', (stage) => chat(stage, 'Hello'));
    const { lastEventId } = await server.backend.transcript('a');
    const events = await follow({ a: lastEventId, b: 'other-process-3' });
    expect(await events.until('reset')).toMatchObject([{ type: 'reset' }]);
    await server.backend.send('a', 'And now?');
    expect((await events.until('call.completed'))[0]).toMatchObject({ type: 'call.started', sessionId: 'a' });
  });

  it('refuses cursors that are none, and more sessions than a browser has tabs', async () => {
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`s-${index}`, '']));
    for (const after of ['nonsense', '[]', '{"s":1}', JSON.stringify(many)])
      expect((await server.ask(`/api/events?after=${encodeURIComponent(after)}`)).status).toBe(400);
  });

  it.each(['other-process-3', 'nonsense', ''])(
    'asks to load again what “%s” does not tell',
    async (after) => {
      server.backend.seed('s', (stage) => chat(stage, 'Hello'));
      const events = await follow({ s: after });
      expect((await events.until('reset')).at(-1)).toEqual({ type: 'reset' });
    },
  );

  it('gives a sign of life while nothing happens', async () => {
    const events = await follow({});
    expect((await events.next()).event).toBe('ping');
    expect((await events.next()).event).toBe('ping');
  });

  it('ends when the server closes', async () => {
    const events = await follow({});
    await events.next();
    const ended = events.ended();
    await server.close();
    expect(await ended).toBe(true);
  });
});
