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

async function follow(path: string, headers: Record<string, string> = {}): Promise<EventReader> {
  const reader = readEvents(await server.ask(path, { headers }));
  readers.push(reader);
  return reader;
}

describe('an event stream', () => {
  it('greets, then tells what happens, each event with its id', async () => {
    const events = await follow('/api/sessions/s/events');
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
    const whole = await follow(`/api/sessions/s/events?after=${lastEventId}`);
    const all = await whole.until('call.completed');
    const middle = whole.ids[5] ?? '';

    const rest = await follow('/api/sessions/s/events', { 'Last-Event-ID': middle });
    expect(await rest.until('call.completed')).toEqual(all.slice(6));
  });

  it('prefers what the browser says it saw to what the address says', async () => {
    server.backend.seed('s', (stage) => chat(stage, 'Hello'));
    const { lastEventId } = await server.backend.transcript('s');
    const events = await follow('/api/sessions/s/events?after=old-0', { 'Last-Event-ID': lastEventId });
    await server.backend.send('s', 'And now?');
    expect((await events.until('call.completed'))[0]?.type).toBe('call.started');
  });

  it.each(['other-process-3', 'nonsense', ''])(
    'asks to load again what “%s” does not tell',
    async (after) => {
      server.backend.seed('s', (stage) => chat(stage, 'Hello'));
      const events = await follow(`/api/sessions/s/events?after=${after}`);
      expect((await events.until('reset')).at(-1)).toEqual({ type: 'reset' });
    },
  );

  it('gives a sign of life while nothing happens', async () => {
    const events = await follow('/api/sessions/s/events');
    expect((await events.next()).event).toBe('ping');
    expect((await events.next()).event).toBe('ping');
  });

  it('ends when the server closes', async () => {
    const events = await follow('/api/sessions/s/events');
    await events.next();
    const ended = events.ended();
    await server.close();
    expect(await ended).toBe(true);
  });
});
