import { estimateCounter } from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PageEvent } from '../src/page.js';
import {
  fatesInWords,
  isStanding,
  standingInWords,
  type Transcript,
  transcriptOf,
} from '../web/src/state/transcript.js';
import { chat, longSession, manualCompaction, outage, survey } from './fake-backend/scenarios.js';
import { type Beat, Stage } from './fake-backend/stage.js';
import { noticesOf, told } from './transcript.js';

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

const long = eventsOf(longSession(stage()));

describe('the transcript', () => {
  it('is the same for a page that reloads at any point as for one that stayed', () => {
    const whole = transcriptOf(long);
    fc.assert(
      fc.property(fc.nat({ max: long.length }), (at) => {
        const history = JSON.parse(JSON.stringify(long.slice(0, at))) as PageEvent[];
        const reloaded = told([...long, { type: 'history', events: history }, ...long.slice(at)]);
        expect(JSON.stringify(reloaded.blocks)).toEqual(JSON.stringify(whole.blocks));
        expect([...reloaded.fates]).toEqual([...whole.fates]);
      }),
      { numRuns: 40 },
    );
  });

  it('says what the model sees as it is, whatever was compacted, undone and reloaded', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('compact', 'undo', 'talk', 'reload'), { maxLength: 12 }),
        (moves) => {
          let standing = 0;
          let events: PageEvent[] = [];
          for (const [index, move] of moves.entries()) {
            const head = { callId: 'c', seq: index, at: `${index}` };
            if (move === 'talk') events.push(...eventsOf(chat(stage(), 'How?')));
            if (move === 'reload') events = JSON.parse(JSON.stringify(events)) as PageEvent[];
            // An undo without a compaction is never told.
            if (move === 'undo' && standing > 0) {
              standing--;
              events.push({ type: 'context.restored', ...head });
            }
            if (move === 'compact') {
              standing++;
              const made = long.findLast(({ type }) => type === 'context.compacted');
              events.push({ ...made, ...head } as PageEvent);
            }
            const transcript = transcriptOf(events);
            expect(transcript.compactions.filter(isStanding)).toHaveLength(standing);
            expect(transcript.fates.size > 0).toBe(standing > 0);
            expect(transcript.savings.compactions).toBe(standing);
            const words = standingInWords(transcript);
            expect(words.includes('whole conversation')).toBe(standing === 0);
            if (standing > 1) expect(words).toContain(`${standing} earlier compactions still in effect`);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it('keeps the warning of a compaction with it, and with no other', () => {
    const head = { callId: 'c', seq: 1, at: '1' };
    const compacted = { ...head, type: 'context.compacted', status: 'applied', manifest: [], steps: [] };
    const warning = { ...head, type: 'warning', source: 'compaction', message: 'Not used.' };
    const { compactions } = transcriptOf([compacted, warning, compacted, compacted] as never);
    expect(compactions.map((one) => one.warning)).toEqual(['', 'Not used.', '']);
  });

  it('counts no summary among the messages that are gone, and a message once', () => {
    const head = { type: 'context.compacted', callId: 'c', seq: 1, at: '1', status: 'applied' };
    const merged = { messageId: 'summary-1', fate: 'merged', stage: 'summarize' };
    const of = (fate: string, ...ids: string[]) =>
      ids.map((messageId) => ({ messageId, fate, stage: 'summarize' }));
    const { compactions, fates } = transcriptOf([
      { ...head, manifest: of('masked', 'a', 'b') },
      { ...head, manifest: [merged, ...of('summarized', 'a')] },
    ] as unknown as PageEvent[]);
    expect(compactions.map(({ manifest }) => fatesInWords(manifest))).toEqual([
      '2 shortened',
      '1 summarized',
    ]);
    expect([...fates].map(([id, { word }]) => [id, word])).toEqual([
      ['a', 'summarized'],
      ['b', 'shortened'],
    ]);
  });

  it('never changes what it was given', () => {
    const freeze = (value: unknown): void => {
      if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
      Object.freeze(value);
      Object.values(value).forEach(freeze);
    };
    freeze(long);
    expect(transcriptOf(long).blocks.length).toBeGreaterThan(10);
  });

  it('takes the title from the first thing the user said', () => {
    expect(transcriptOf(eventsOf(chat(stage(), '  What\n is   it? '))).title).toBe('What is it?');
  });

  it('says that a model call is made again', () => {
    const events = eventsOf(chat(stage(), 'How?'));
    const started = events.findIndex(({ type }) => type === 'model.started') + 1;
    const retrying = {
      type: 'model.retrying',
      attempt: 1,
      delayMs: 10,
      error: { code: 'model_error', message: 'busy' },
    } as PageEvent;
    expect(transcriptOf([...events.slice(0, started), retrying]).call).toMatchObject({
      step: 1,
      retry: { attempt: 1, error: 'busy' },
    });
  });

  it('keeps a failed compaction apart from one that took something away', () => {
    const small = stage();
    const transcript = transcriptOf(
      eventsOf([...chat(small, 'How?'), ...manualCompaction(small, undefined)]),
    );
    expect(transcript.compactions).toMatchObject([{ status: 'ineffective', manifest: [] }]);
    expect(transcript.fates.size).toBe(0);
  });

  it('closes what was running when a call ends', () => {
    const working = eventsOf(survey(stage(), 'Survey'));
    const cut = working.findIndex(({ type }) => type === 'tool.call') + 1;
    const error = { code: 'x', message: 'It broke.' };
    const failed = { type: 'call.failed', callId: 'c', error, seq: 0, at: 'now' } as const;
    expect(transcriptOf(working.slice(0, cut)).call).toBeDefined();
    const transcript = transcriptOf([...working.slice(0, cut), failed]);
    expect(transcript.call).toBeUndefined();
    expect([...transcript.toolRuns.values()]).toEqual([{}]);
    expect(noticesOf(transcript).at(-1)).toMatchObject({ level: 'error', message: 'It broke.' });
  });

  it('sums what model calls reported', () => {
    const transcript = transcriptOf([
      ...eventsOf(chat(stage(), 'How?')),
      ...eventsOf(outage(stage(), 'Which?')),
    ]);
    expect(transcript.modelCalls).toBe(1);
    expect(transcript.usage.inputTokens).toBeGreaterThan(estimateCounter.count('How?'));
  });

  it('keeps every request on the time line by its number, and leads from it to the answer', () => {
    const step = long.find(({ type }) => type === 'model.started');
    if (!step) throw new Error('the scenario has steps');
    const { places } = transcriptOf(Array.from({ length: 1_000 }, () => step));
    expect(places.length).toBe(1_000);
    expect(places.at(-1)?.request).toBe(1_000);
    const { places: real, replies } = transcriptOf(long);
    const answered = real.flatMap(({ messageId }, index) =>
      messageId ? [[messageId, index + 1] as const] : [],
    );
    expect(answered.length).toBeGreaterThan(5);
    for (const [messageId, place] of answered) expect(replies.get(messageId)?.place).toBe(place);
  });

  it('shows warnings that differ only in numbers once, at the last place, with their count', () => {
    const warn = (source: string, message: string) =>
      ({ type: 'warning', source, message, at: '', callId: 'c', seq: 1 }) as PageEvent;
    const { blocks } = transcriptOf([
      warn('memory', 'It skips 3 messages.'),
      warn('compaction', 'It skips 3 messages.'),
      warn('memory', 'It is full.'),
      warn('memory', 'It skips 14 messages.'),
      warn('memory', 'It skips 5 messages.'),
    ]);
    const notices = noticesOf({ blocks } as Transcript);
    expect(notices.map(({ code, message, count }) => [code, message, count])).toEqual([
      ['compaction', 'It skips 3 messages.', 1],
      ['memory', 'It is full.', 1],
      ['memory', 'It skips 5 messages.', 3],
    ]);
    expect(new Set(blocks.map(({ id }) => id)).size).toBe(3);
  });
});
