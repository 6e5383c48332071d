import type { AgentEvent } from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventJournal } from '../../src/lib/event-journal.js';

const never = new AbortController().signal;

function delta(seq: number, text: string, draft = 1): AgentEvent {
  const place = { seq, sessionId: 's', agentId: 'a', callId: 'c', step: 1, at: '2026-01-01T00:00:00.000Z' };
  return { type: 'text.delta', text, messageId: 'm', draft, ...place };
}

async function drain(events: AsyncIterable<AgentEvent>): Promise<readonly AgentEvent[]> {
  const read: AgentEvent[] = [];
  for await (const event of events) read.push(event);
  return read;
}

const textOf = (events: readonly AgentEvent[]) =>
  events.map((event) => (event.type === 'text.delta' ? event.text : '')).join('');

describe('a journal of events', () => {
  it('reads 400 000 events that waited, in linear time', async () => {
    const journal = new EventJournal<string>();
    const reading = journal.readFirst();
    const first = reading.next();
    for (let seq = 1; seq <= 400_000; seq++) journal.push(delta(seq, '.', seq));
    journal.end({ result: 'done' });
    let count = (await first).done ? 0 : 1;
    for await (const { seq } of reading) if (seq === count + 1) count++;
    expect(count).toBe(400_000);
  });

  it('returns the result, or throws what the call ended with', async () => {
    const done = new EventJournal<string>();
    done.end({ result: 'reply' });
    expect(await done.read().next()).toEqual({ done: true, value: 'reply' });
    const failed = new EventJournal<string>();
    failed.end({ cause: new Error('out of order') });
    await expect(failed.read().next()).rejects.toThrow('out of order');
  });

  it('lets the call wait for a first reader that is far behind, until it has read, left or the call ends', async () => {
    const journal = new EventJournal<string>();
    const reading = journal.readFirst();
    const first = reading.next();
    for (let seq = 1; seq <= 1_100; seq++) journal.push(delta(seq, '.', seq));
    await first;
    const room = journal.room(never);
    expect(room).toBeInstanceOf(Promise);
    for (let read = 1; read < 200; read++) await reading.next();
    await room;
    expect(journal.room(never)).toBeUndefined();
    for (let seq = 1_101; seq <= 1_400; seq++) journal.push(delta(seq, '.', seq));
    const interrupt = new AbortController();
    const waiting = journal.room(interrupt.signal);
    interrupt.abort();
    await waiting;
    const other = journal.room(never);
    await reading.return('');
    await other;
    expect(journal.room(never)).toBeUndefined();
  });

  it('keeps a bounded number of events where there is no first reader', async () => {
    const journal = new EventJournal<string>();
    for (let seq = 1; seq <= 10_000; seq++) journal.push(delta(seq, '.', seq));
    journal.end({ result: '' });
    const kept = await drain(journal.read());
    expect(kept.length).toBeLessThan(2_100);
    expect(kept.at(-1)?.seq).toBe(10_000);
    await expect(journal.read({ callId: 'c', seq: 5 }).next()).rejects.toMatchObject({ code: 'events_gone' });
  });

  it('goes on behind any cursor, with every event once, however reader and call take turns', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat({ max: 400 }), { maxLength: 6 }),
        fc.nat({ max: 30 }),
        async (bursts, cut) => {
          const journal = new EventJournal<string>();
          const reading = journal.readFirst();
          let seq = 0;
          let next = reading.next();
          const before: AgentEvent[] = [];
          for (const burst of bursts) {
            for (let index = 0; index < burst; index++) journal.push(delta(++seq, `${seq},`));
            for (let read = 0; read < Math.min(cut, burst) && burst > 0; read++) {
              if (journal.room(never) === undefined && before.at(-1)?.seq === seq) break;
              const { value } = await next;
              before.push(value as AgentEvent);
              next = reading.next();
            }
          }
          journal.end({ result: '' });
          const behind = await drain(journal.read(before.at(-1)));
          const expected = Array.from({ length: seq }, (_, index) => `${index + 1},`).join('');
          expect(textOf([...before, ...behind])).toBe(expected);
        },
      ),
    );
  });
});
