import { estimateCounter } from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldEvent } from '../../src/server/fold-event.js';
import type { PageEvent } from '../../src/server/transcript.js';
import { emptyTranscript, type Transcript } from '../../src/server/transcript.js';
import { chat, longSession, manualCompaction, outage, survey } from '../fake-backend/scenarios.js';
import { type Beat, Stage } from '../fake-backend/stage.js';

function stage(): Stage {
  return new Stage({ prefix: 's', window: 24_000, startsAt: new Date('2026-01-01T08:00:00Z') });
}

function eventsOf(beats: Iterable<Beat>): PageEvent[] {
  return [...beats].flatMap((beat) =>
    beat.type === 'gate'
      ? []
      : [{ ...beat, sessionId: 's', at: beat.at ?? '2026-01-01T08:00:00Z' } as PageEvent],
  );
}

function fold(events: readonly PageEvent[], from: Transcript = emptyTranscript('s')): Transcript {
  return events.reduce(foldEvent, from);
}

const long = eventsOf(longSession(stage()));

describe('foldEvent', () => {
  it('is the same through JSON at any point: a page that reloads shows what one that stayed shows', () => {
    const whole = fold(long);
    fc.assert(
      fc.property(fc.nat({ max: long.length }), (at) => {
        const reloaded = JSON.parse(JSON.stringify(fold(long.slice(0, at)))) as Transcript;
        expect(JSON.parse(JSON.stringify(fold(long.slice(at), reloaded)))).toEqual(
          JSON.parse(JSON.stringify(whole)),
        );
      }),
      { numRuns: 40 },
    );
  });

  it('enters what comes twice once', () => {
    const once = fold(long);
    const ids = new Set(['message.added', 'model.completed', 'context.compacted', 'call.failed']);
    const twice = fold(
      long.filter(({ type }) => ids.has(type)),
      once,
    );
    expect(twice.entries).toEqual(once.entries);
    expect(twice.totals).toEqual(once.totals);
  });

  it('never changes what it was given', () => {
    const freeze = (value: unknown): void => {
      if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
      Object.freeze(value);
      Object.values(value).forEach(freeze);
    };
    let transcript = emptyTranscript('s');
    for (const event of long) {
      freeze(transcript);
      transcript = foldEvent(transcript, event);
    }
    expect(transcript.entries.length).toBeGreaterThan(30);
  });

  it('takes the title from the first thing the user said', () => {
    expect(fold(eventsOf(chat(stage(), '  What\n is   it? '))).title).toBe('What is it?');
  });

  it('shows text as it comes, and voids it when the model call is made again', () => {
    const events = eventsOf(chat(stage(), 'How?'));
    const middle = events.findIndex(({ type }) => type === 'text.delta') + 4;
    const drafting = fold(events.slice(0, middle));
    expect(drafting.call?.text).not.toBe('');
    const retrying = [
      { type: 'draft.discarded', messageId: 'm', draft: 1, text: drafting.call?.text ?? '' },
      { type: 'model.retrying', attempt: 1, delayMs: 10, error: 'overloaded' },
    ].reduce(
      (transcript, event) => foldEvent(transcript, { ...event, sessionId: 's', at: '' } as PageEvent),
      drafting,
    );
    expect(retrying.call).toMatchObject({ text: '', retry: { attempt: 1, error: 'overloaded' } });
  });

  it('keeps a failed compaction apart from one that took something away', () => {
    const small = stage();
    const transcript = fold(eventsOf([...chat(small, 'How?'), ...manualCompaction(small, undefined)]));
    expect(transcript.entries.at(-1)).toMatchObject({ compaction: { status: 'ineffective', manifest: [] } });
    expect(transcript.fates).toEqual({});
  });

  it('closes what was running when a call ends', () => {
    const working = eventsOf(survey(stage(), 'Survey'));
    const cut = working.findIndex(({ type }) => type === 'tool.call') + 1;
    const events: PageEvent[] = [
      ...working.slice(0, cut),
      {
        type: 'call.failed',
        callId: 'c',
        error: { code: 'x', message: 'It broke.' },
        sessionId: 's',
        at: 'now',
      },
    ];
    const transcript = fold(events);
    expect(transcript.call).toBeUndefined();
    expect(Object.values(transcript.toolRuns).map(({ status }) => status)).toEqual(['failed']);
    expect(transcript.entries.at(-1)).toMatchObject({ notice: { level: 'error', message: 'It broke.' } });
  });

  it('sums what model calls reported', () => {
    const transcript = fold(eventsOf(outage(stage(), 'Which?')), fold(eventsOf(chat(stage(), 'How?'))));
    expect(transcript.totals.modelCalls).toBe(1);
    expect(transcript.totals.usage.inputTokens).toBeGreaterThan(estimateCounter.count('How?'));
  });

  it('keeps every request on the time line, by its number', () => {
    const step = long.find(({ type }) => type === 'model.started');
    if (!step) throw new Error('the scenario has steps');
    const transcript = fold(Array.from({ length: 1_000 }, () => step));
    expect(transcript.timeline.length).toBe(1_000);
    expect(transcript.timeline.at(-1)?.step).toBe(1_000);
  });
});
