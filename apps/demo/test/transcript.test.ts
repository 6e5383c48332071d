import { estimateCounter } from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PageEvent, Sent } from '../src/page.js';
import { emptyTranscript, fold, isStanding, type Transcript } from '../web/src/state/transcript.js';
import { chat, longSession, manualCompaction, outage, survey } from './fake-backend/scenarios.js';
import { type Beat, Stage } from './fake-backend/stage.js';

function stage(): Stage {
  return new Stage({ prefix: 's', window: 24_000, startsAt: new Date('2026-01-01T08:00:00Z') });
}

function eventsOf(beats: Iterable<Beat>): PageEvent[] {
  return [...beats].flatMap((beat, seq) =>
    beat.type === 'gate' || beat.type === 'state'
      ? []
      : [{ ...beat, callId: 'c', seq, at: beat.at ?? '2026-01-01T08:00:00Z' } as PageEvent],
  );
}

function foldAll(events: readonly Sent[], from: Transcript = emptyTranscript('s')): Transcript {
  return events.reduce(fold, from);
}

const long = eventsOf(longSession(stage()));

describe('the transcript', () => {
  it('is the same for a page that reloads at any point as for one that stayed', () => {
    const whole = foldAll(long);
    fc.assert(
      fc.property(fc.nat({ max: long.length }), (at) => {
        const history = JSON.parse(JSON.stringify(long.slice(0, at))) as PageEvent[];
        const reloaded = foldAll([{ type: 'history', events: history }, ...long.slice(at)], foldAll(long));
        expect(JSON.parse(JSON.stringify(reloaded))).toEqual(JSON.parse(JSON.stringify(whole)));
      }),
      { numRuns: 40 },
    );
  });

  it('marks the compactions that stand, whatever was compacted and undone', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('compact', 'undo', 'talk'), { maxLength: 12 }), (moves) => {
        let expected = 0;
        const events = moves.flatMap((move, index): PageEvent[] => {
          const head = { callId: 'c', seq: index, at: `${index}` };
          if (move === 'talk') return eventsOf(chat(stage(), 'How?'));
          if (move === 'undo') {
            // An undo without a compaction is never told.
            if (expected === 0) return [];
            expected--;
            return [{ type: 'context.restored', ...head }];
          }
          expected++;
          return eventsOf(longSession(stage()))
            .filter(({ type }) => type === 'context.compacted')
            .slice(-1)
            .map((event) => ({ ...event, ...head }) as PageEvent);
        });
        const { entries, fates } = foldAll(events);
        const standing = entries.filter(
          (entry) => entry.type === 'compaction' && isStanding(entry.compaction),
        );
        expect(standing).toHaveLength(expected);
        expect(Object.keys(fates).length > 0).toBe(expected > 0);
      }),
      { numRuns: 60 },
    );
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
      transcript = fold(transcript, event);
    }
    expect(transcript.entries.length).toBeGreaterThan(30);
  });

  it('takes the title from the first thing the user said', () => {
    expect(foldAll(eventsOf(chat(stage(), '  What\n is   it? '))).title).toBe('What is it?');
  });

  it('shows text as it comes, and voids it when the model call is made again', () => {
    const events = eventsOf(chat(stage(), 'How?'));
    const middle = events.findIndex(({ type }) => type === 'text.delta') + 4;
    const drafting = foldAll(events.slice(0, middle));
    expect(drafting.call?.text).not.toBe('');
    const retrying = [
      { type: 'draft.discarded', messageId: 'm', draft: 1, text: drafting.call?.text ?? '' },
      { type: 'model.retrying', attempt: 1, delayMs: 10, error: { code: 'model_error', message: 'busy' } },
    ].reduce((transcript, event) => fold(transcript, { ...event, at: '' } as PageEvent), drafting);
    expect(retrying.call).toMatchObject({ text: '', retry: { attempt: 1, error: 'busy' } });
  });

  it('keeps a failed compaction apart from one that took something away', () => {
    const small = stage();
    const transcript = foldAll(eventsOf([...chat(small, 'How?'), ...manualCompaction(small, undefined)]));
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
        seq: 0,
        at: 'now',
      },
    ];
    const transcript = foldAll(events);
    expect(transcript.call).toBeUndefined();
    expect(Object.values(transcript.toolRuns).map(({ status }) => status)).toEqual(['failed']);
    expect(transcript.entries.at(-1)).toMatchObject({ notice: { level: 'error', message: 'It broke.' } });
  });

  it('sums what model calls reported', () => {
    const transcript = foldAll(eventsOf(outage(stage(), 'Which?')), foldAll(eventsOf(chat(stage(), 'How?'))));
    expect(transcript.totals.modelCalls).toBe(1);
    expect(transcript.totals.usage.inputTokens).toBeGreaterThan(estimateCounter.count('How?'));
  });

  it('keeps every request on the time line, by its number', () => {
    const step = long.find(({ type }) => type === 'model.started');
    if (!step) throw new Error('the scenario has steps');
    const transcript = foldAll(Array.from({ length: 1_000 }, () => step));
    expect(transcript.timeline.length).toBe(1_000);
    expect(transcript.timeline.at(-1)?.step).toBe(1_000);
  });
});
