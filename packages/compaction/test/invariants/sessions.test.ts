import {
  AgentState,
  estimateCounter,
  InMemorySession,
  type Message,
  openSession,
  type Session,
  SessionConflictError,
  SessionKey,
  type SessionStore,
  textOf,
  userMessage,
} from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compaction, createCompactor, undoCompaction } from '../../src/index.js';
import { round } from '../build.js';
import { modelOf, said } from '../models.js';
import { memoryLog, scopeOf, type TestScope } from '../scope.js';
import { conversations, longConversations, runs } from './conversations.js';

const key = SessionKey.of('s1');
const small = {
  model: null,
  contextWindow: 3_000,
  trigger: { messages: 10 },
  keep: { messages: 3 },
} as const;

/** Whether it can be reduced at all: what must stay may be larger than the window. */
async function presupposeReducible(messages: readonly Message[]): Promise<void> {
  fc.pre((await compaction(small).compact?.(scopeOf(messages), {}))?.status === 'applied');
}

/** Around the state of a stored session, as a harness has it. */
function scopeAround(session: Session, overrides: Partial<TestScope> = {}): TestScope {
  const checkpoint = async () => void (await session.commit());
  return scopeOf([], { state: session.state, checkpoint, ...overrides });
}

async function stored(store: SessionStore, messages: readonly Message[]): Promise<Session> {
  const session = await openSession(store, key);
  session.state.contextMutable().push(...messages);
  await session.commit();
  return session;
}

describe('a session that is compacted', { timeout: 300_000 }, () => {
  it('is as before or as after, wherever the process dies, and the log holds whatever went', async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(longConversations, fc.nat({ max: 60 }), fc.boolean(), async (messages, dies, late) => {
        const inner = new InMemorySession();
        await stored(inner, messages);
        let steps = 0;
        /** Everything that touches the outside; from the given step on there is no process any more. */
        const alive = async <Value>(operation: () => Promise<Value>): Promise<Value> => {
          const dying = steps++ >= dies;
          if (dying && !(late && steps === dies + 1)) throw new Error('killed');
          const value = await operation();
          if (dying) throw new Error('killed');
          return value;
        };
        const store: SessionStore = Object.assign(Object.create(inner) as SessionStore, {
          load: (of: SessionKey) => inner.load(of),
          commit: (...change: Parameters<SessionStore['commit']>) => alive(() => inner.commit(...change)),
        });
        const log = memoryLog();
        const mortal = {
          ...log,
          append: (added: readonly Message[]) => alive(() => log.append(added)),
          get: (id: string) => alive(() => log.get(id)),
        };
        const session = await openSession(store, key);
        const scope = scopeAround(session, { log: mortal });
        const outcome = await compaction(small)
          .compact?.(scope, {})
          .catch(() => undefined);

        const reopened = (await openSession(inner, key)).state.context;
        const isBefore = JSON.stringify(reopened) === JSON.stringify(messages);
        seen.add(isBefore ? 'before' : 'after');
        if (!isBefore) {
          expect(reopened.some((message) => message.kind !== undefined || message.metadata)).toBe(true);
          const there = new Set(reopened.map(({ id }) => id));
          const logged = new Set(log.messages.map(({ id }) => id));
          expect(messages.filter(({ id }) => !there.has(id) && !logged.has(id))).toEqual([]);
        }
        // What the process said before it died is what the store says, unless it died before the store could answer.
        if (outcome?.status === 'applied') expect(isBefore).toBe(false);
      }),
      runs(60),
    );
    expect(seen).toEqual(new Set(['before', 'after']));
  });

  it('loses no turn to another writer: one commits, the other is told, and is as it was', async () => {
    await fc.assert(
      fc.asyncProperty(longConversations, fc.boolean(), async (messages, compactionFirst) => {
        await presupposeReducible(messages);
        const store = new InMemorySession();
        await stored(store, messages);
        const [compacting, adding] = [await openSession(store, key), await openSession(store, key)];
        const before = [...compacting.state.context];
        const turn = userMessage('and another thing');
        adding.state.contextMutable().push(turn);
        const scope = scopeAround(compacting);
        const compact = () =>
          compaction(small).compact?.(scope, {}) ?? Promise.reject(new Error('no compact'));

        if (compactionFirst) {
          expect((await compact()).status).toBe('applied');
          await expect(adding.commit()).rejects.toBeInstanceOf(SessionConflictError);
        } else {
          await adding.commit();
          await expect(compact()).rejects.toBeInstanceOf(SessionConflictError);
          expect(compacting.state.context).toEqual(before);
          expect(scope.events.at(-1)).toMatchObject({ type: 'context.compacted', status: 'failed' });
        }
        const { state } = await openSession(store, key);
        expect(state.context).toEqual(compactionFirst ? compacting.state.context : [...before, turn]);
      }),
      runs(20),
    );
  });

  it('has messages that arrive at any moment of it once, in order, at the end', async () => {
    await fc.assert(
      fc.asyncProperty(longConversations, fc.integer({ min: 0, max: 40 }), async (messages, moment) => {
        await presupposeReducible(messages);
        const scope = scopeOf(messages);
        const late = [userMessage('wait'), userMessage('never mind')];
        let awaits = 0;
        const arrive = () => {
          if (awaits++ === moment) scope.state.contextMutable().push(...late);
        };
        const log = scope.log;
        const noisy = {
          ...log,
          async append(added: readonly Message[]) {
            arrive();
            await log.append(added);
            arrive();
          },
          async get(id: string) {
            arrive();
            return log.get(id);
          },
        };
        const checkpoint = async () => arrive();
        const beforeReduction = async () => arrive();
        const outcome = await compaction({
          ...small,
          beforeCompaction: () => void arrive(),
          afterCompaction: () => void arrive(),
        }).compact?.({ ...scope, log: noisy, checkpoint, beforeReduction }, {});
        expect(outcome?.status).toBe('applied');
        const arrived = scope.state.context.filter((message) => late.includes(message));
        expect(arrived).toEqual(awaits > moment ? late : []);
        if (awaits > moment) expect(scope.state.context.slice(-2)).toEqual(late);
      }),
      runs(40),
    );
  });

  it('has one and the same prefix between reductions, byte for byte', async () => {
    let reductions = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(conversations, { minLength: 2, maxLength: 4 }), async (parts) => {
        const scope = scopeOf([]);
        const capability = compaction({ model: null, contextWindow: 4_000 });
        let previous: readonly string[] = [];
        let version = 0;
        for (const message of parts.flat()) {
          scope.state.contextMutable().push(message);
          if (message.role === 'assistant') continue;
          await capability.aroundReason?.(scope, async () => {
            const now = scope.state.context.map((each) => JSON.stringify(each));
            const applied = scope.events.filter(
              (event) => event.type === 'context.compacted' && event.status === 'applied',
            ).length;
            if (applied === version) expect(now.slice(0, previous.length)).toEqual(previous);
            else reductions++;
            [previous, version] = [now, applied];
            return said('next');
          });
        }
      }),
      runs(15),
    );
    expect(reductions).toBeGreaterThan(5);
  });

  it('is byte for byte as it was after a bad summary, and the reason is told', async () => {
    const bad = fc.constantFrom(
      said(''),
      said('  \n'),
      said('I cannot help with that.'),
      said('## SESSION INTENT\n## SUMMARY\n## ARTIFACTS\n## NEXT STEPS', 'length'),
      said('## SESSION INTENT\n## SUMMARY\n## ARTIFACTS\n## NEXT STEPS', 'content-filter'),
    );
    await fc.assert(
      fc.asyncProperty(longConversations, bad, async (messages, answer) => {
        const before = JSON.stringify(messages);
        const model = modelOf(() => answer);
        const compactor = createCompactor({
          stages: ['summarize', 'drop_oldest'],
          model,
          summary: { fallback: 'none' },
          contextWindow: 8_000,
        });
        const outcome = await compactor.compact(messages);
        expect(outcome.messages.some((message) => message.kind === 'summary')).toBe(false);
        expect(JSON.stringify(messages)).toBe(before);
        if (outcome.status !== 'applied') {
          expect(outcome.messages).toBe(messages);
          expect(outcome.message).not.toBe('');
        }
      }),
      runs(20),
    );
  });
});

describe('thirty compactions of one session', { timeout: 120_000 }, () => {
  it.each([
    ['with a model', modelOf((request) => narrative(JSON.stringify(request.messages))), false],
    ['without', null, false],
    ['without, of a user who says more all the time', null, true],
  ])('keep summary, state and work of the same size: %s', async (_, model, speaks) => {
    const summary = { maxTokens: 400, record: 0.1 };
    const contextWindow = 8_000;
    const capability = compaction({ model, contextWindow, summary });
    const scope = scopeOf([userMessage('Build the ark; keep src/ark.ts as it is.')]);
    const sizes: { summary: number; head: number; context: number; asked: number }[] = [];
    for (let step = 0; sizes.length < 30; step++) {
      if (speaks && step % 4 === 3) {
        scope.state.contextMutable().push(userMessage(`And plank ${step} too, ${'please '.repeat(40)}.`));
      }
      scope.state.contextMutable().push(
        ...round({
          name: 'read_file',
          input: { path: `src/deck${step}/plank_${step}.ts` },
          output: `export function hammer${step}Nail() {}\n${`beam${step} board `.repeat(120)}`,
          say: `I decided to use plank ${step}.`,
        }),
      );
      const asked = model ? model.requests.length : 0;
      await capability.aroundReason?.(scope, async () => ({ content: [], finishReason: 'stop' }));
      const done = scope.events.filter(
        (event) => event.type === 'context.compacted' && event.stagesUsed.includes('summarize'),
      ).length;
      if (done <= sizes.length) continue;
      sizes.push({
        summary: scope.state.summary?.length ?? 0,
        head: JSON.stringify(scope.state.head()).length,
        context: JSON.stringify(scope.state.context.map(({ content }) => content)).length,
        asked: (model ? model.requests.length : 0) - asked,
      });
    }
    // By then the state holds as many compactions as can be undone, and the user's words have filled their room.
    const early = sizes.slice(10, 14);
    const late = sizes.slice(-4);
    for (const kind of ['summary', 'head', 'context'] as const) {
      const most = (of: typeof sizes) => Math.max(...of.map((size) => size[kind]));
      expect(most(late), kind).toBeLessThan(most(early) * 1.3 + 200);
    }
    // What a summary remembers beside its text fills up, and then stays as it is.
    expect(JSON.stringify(scope.state.context).length).toBeLessThan(120_000);
    expect(Math.max(...late.map(({ asked }) => asked))).toBeLessThanOrEqual(model ? 2 : 0);
    expect(estimateCounter.count(scope.state.summary ?? '')).toBeLessThanOrEqual(
      (model ? 400 * 1.25 : 0) + 0.1 * contextWindow,
    );
    expect(scope.state.summary?.match(/CONVERSATION_SUMMARY\]/g)).toHaveLength(2);
    expect(scope.state.context.map(textOf)).toContain('Build the ark; keep src/ark.ts as it is.');
    expect(AgentState.fromJSON(JSON.parse(JSON.stringify(scope.state))).context).toEqual(scope.state.context);
    expect(await undoCompaction(scope)).toBe(true);
  });
});

/** A summary that would grow with what it is shown, if it were let. */
function narrative(shown: string): string {
  const text = `Seen: ${shown.slice(0, 1_500)}`;
  return `## SESSION INTENT\nBuild.\n## SUMMARY\n${text}\n## ARTIFACTS\nNone\n## NEXT STEPS\nNone`;
}
