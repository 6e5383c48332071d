import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SessionFeed, type StampedEvent } from '../../src/server/session-feed.js';

function publish(feed: SessionFeed, ...words: readonly string[]): void {
  for (const message of words) feed.publish({ type: 'warning', source: 'test', message });
}

/** The words of what is told after an event, up to now and from now on. */
function listen(feed: SessionFeed, after: string): { readonly told: string[]; readonly end: () => void } {
  const told: string[] = [];
  const end = feed.subscribe(after, ({ event }: StampedEvent) =>
    told.push(event.type === 'warning' ? event.message : event.type),
  );
  return { told, end };
}

describe('SessionFeed', () => {
  it('gives everybody who comes back exactly what they missed, or says that it cannot', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.nat({ max: 60 }),
        fc.nat({ max: 60 }),
        (capacity, seen, missed) => {
          const feed = new SessionFeed('s', { capacity });
          const words = Array.from({ length: missed }, (_, index) => `missed ${index}`);
          publish(feed, ...Array.from({ length: seen }, () => 'seen'));
          const { lastEventId } = feed.snapshot;
          publish(feed, ...words);
          const { told } = listen(feed, lastEventId);
          publish(feed, 'live');

          expect(told.pop()).toBe('live');
          if (missed <= capacity) expect(told).toEqual(words);
          else if (told.length !== missed) expect(told).toEqual(['reset']);
        },
      ),
    );
  });

  it('tells what comes, until its reader leaves', () => {
    const feed = new SessionFeed('s');
    publish(feed, 'before');
    const { told, end } = listen(feed, feed.snapshot.lastEventId);
    publish(feed, 'after');
    end();
    publish(feed, 'later');
    expect(told).toEqual(['after']);
  });

  it('holds a bounded number of events', () => {
    const feed = new SessionFeed('s', { capacity: 10 });
    const { lastEventId } = feed.snapshot;
    publish(feed, ...Array.from({ length: 200 }, () => 'word'));
    expect(listen(feed, lastEventId).told).toEqual(['reset']);
  });

  it('has everybody begin anew with what another process made of the session, also who comes back', () => {
    const feed = new SessionFeed('s');
    publish(feed, 'before');
    const { lastEventId } = feed.snapshot;
    const { told } = listen(feed, lastEventId);
    feed.replace({ ...feed.transcript, title: 'Another' });
    expect(told).toEqual(['reset']);
    expect(listen(feed, lastEventId).told).toEqual(['reset']);
    expect(listen(feed, feed.snapshot.lastEventId).told).toEqual([]);
  });

  it.each(['q-1', 'OURS-99', 'OURS--1', 'OURS-x', 'OURS', ''])('does not resume after “%s”', (id) => {
    const feed = new SessionFeed('s');
    publish(feed, 'one');
    const ours = feed.snapshot.lastEventId.replace(/-1$/, '');
    expect(listen(feed, id.replace('OURS', ours)).told).toEqual(['reset']);
  });
});
