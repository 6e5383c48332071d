import type { CompactionOutcome, CompactionReason, Compactor, Message } from '@x/core';
import { describe, expect } from 'vitest';
import {
  assertAccounted,
  assertCurrent,
  assertPaired,
  assertReport,
  assertUntouched,
  assertWellFormed,
} from './compactor-suite/laws.js';
import { randomConversation } from './compactor-suite/random-conversation.js';
import { SuiteTests, type SuiteTestsOptions } from './suite-tests.js';

/** Options of {@link compactorSuite}. */
export interface CompactorSuiteOptions extends SuiteTestsOptions {
  /** Printed in the title of the suite. */
  readonly name: string;
  /** Opens a new compactor. Called once for each test. Every call of the compactor gets its window in `contextWindow`. */
  create(): Compactor | Promise<Compactor>;
  /** Number of random conversations per test. The seeds are 1, 2, 3…, so that a failure is reproducible. Default 20. */
  readonly conversations?: number | undefined;
}

/** Registers the tests of the suite. */
class CompactorSuite extends SuiteTests {
  /** The seeds of the random conversations. */
  readonly seeds: readonly number[];
  readonly #create: CompactorSuiteOptions['create'];

  constructor(options: CompactorSuiteOptions) {
    super(options);
    this.#create = () => options.create();
    this.seeds = Array.from({ length: options.conversations ?? 20 }, (_, index) => index + 1);
  }

  /** Registers a test with a fresh compactor. */
  test(name: string, run: (compactor: Compactor) => Promise<void>): void {
    this.register(name, async () => run(await this.#create()));
  }
}

/**
 * Registers the tests that every `Compactor` must pass, with Vitest. Call it at the top level of a test file.
 *
 * ```ts
 * compactorSuite({ name: 'without a model', create: () => createCompactor() });
 * ```
 */
export function compactorSuite(options: CompactorSuiteOptions): void {
  describe(`Compactor: ${options.name}`, () => {
    const suite = new CompactorSuite(options);
    singleRuns(suite);
    chains(suite);
    suite.testOptOuts();
  });
}

const REASONS: readonly CompactionReason[] = ['manual', 'proactive_budget', 'request_too_large'];
/** Windows in tokens: from too small for any conversation of the suite to larger than all of them. */
const WINDOWS = [64, 2_000, 8_000, 1_000_000];

type Law = (before: readonly Message[], outcome: CompactionOutcome) => void;

const LAWS: Readonly<Record<string, Law>> = {
  'keeps tool calls with their results': (_, outcome) => assertPaired(outcome.messages),
  'lists every removed or changed message once in the manifest': assertAccounted,
  'returns the same array if nothing was applied': assertUntouched,
  'never splits a surrogate pair': (_, outcome) => assertWellFormed(outcome.messages),
  'keeps the latest request and open calls unchanged': assertCurrent,
  'reports counts and a reason that match the result': assertReport,
};

/** Rules for one compaction of any conversation, for every window and reason. */
function singleRuns(suite: CompactorSuite): void {
  for (const [name, law] of Object.entries(LAWS)) {
    suite.test(name, async (compactor) => {
      for (const seed of suite.seeds) {
        const messages = randomConversation(seed, { parts: 4 + (seed % 5) * 8, open: seed % 3 === 0 });
        const reason = REASONS[seed % REASONS.length] ?? 'manual';
        for (const contextWindow of WINDOWS) {
          law(messages, await compactor.compact(messages, { reason, contextWindow }));
        }
      }
    });
  }

  suite.test('does not modify its input', async (compactor) => {
    for (const seed of suite.seeds) {
      const messages = randomConversation(seed);
      const before = structuredClone(messages);
      await compactor.compact(messages, { contextWindow: 4_000 });
      expect(messages).toEqual(before);
    }
  });

  suite.test('plan() changes nothing', async (compactor) => {
    for (const seed of suite.seeds) {
      const messages = randomConversation(seed);
      const before = structuredClone(messages);
      const first = await compactor.plan(messages, { contextWindow: 4_000 });
      expect(messages).toEqual(before);
      const { status, tokensBefore, tokensAfter } = await compactor.plan(messages, { contextWindow: 4_000 });
      expect({ status, tokensBefore, tokensAfter }).toEqual({
        status: first.status,
        tokensBefore: first.tokensBefore,
        tokensAfter: first.tokensAfter,
      });
      assertReport(messages, first);
    }
  });

  suite.test('reduces an oversized conversation to the window', async (compactor) => {
    const messages = randomConversation(7, { parts: 120 });
    const outcome = await compactor.compact(messages, { reason: 'request_too_large', contextWindow: 16_000 });
    expect(outcome.tokensBefore).toBeGreaterThan(16_000);
    expect(outcome).toMatchObject({ status: 'applied' });
    expect(outcome.tokensAfter).toBeLessThanOrEqual(16_000);
  });

  suite.test('returns the same array if it is aborted', async (compactor) => {
    const messages = randomConversation(7, { parts: 120 });
    const signal = AbortSignal.abort(new Error('aborted by the suite'));
    const outcome = await compactor.compact(messages, { contextWindow: 4_000, signal });
    expect(outcome.status).toBe('aborted');
    expect(outcome.messages).toBe(messages);
  });
}

const LENGTH = 4;
const WINDOW = 6_000;
/** Number of compactions without a new message after which nothing may be left to do. */
const PATIENCE = 12;

/** Rules for several compactions of one conversation that continues between them. */
function chains(suite: CompactorSuite): void {
  suite.test('loses no message over a chain of compactions', async (compactor) => {
    for (const seed of suite.seeds) {
      let context: readonly Message[] = [];
      const gone = new Set<string>();
      const given = new Set<string>();
      for (let link = 0; link < LENGTH; link++) {
        const added = randomConversation(seed * 10 + link, { parts: 12 });
        for (const message of added) given.add(message.id);
        const before = [...context, ...added];
        const outcome = await compactor.compact(before, {
          reason: 'proactive_budget',
          contextWindow: WINDOW,
        });
        assertPaired(outcome.messages);
        assertAccounted(before, outcome);
        for (const { messageId } of outcome.manifest) gone.add(messageId);
        context = outcome.messages;
      }
      const there = new Set(context.map((message) => message.id));
      expect([...given].filter((id) => !there.has(id) && !gone.has(id))).toEqual([]);
    }
  });

  suite.test('does not bring back a removed message', async (compactor) => {
    for (const seed of suite.seeds) {
      const first = randomConversation(seed, { parts: 40 });
      const options = { reason: 'proactive_budget', contextWindow: WINDOW } as const;
      const reduced = await compactor.compact(first, options);
      const gone = new Set(reduced.manifest.map((entry) => entry.messageId));
      const more = randomConversation(seed + 1_000, { parts: 2 });
      const { messages } = await compactor.compact([...reduced.messages, ...more], options);
      const original = new Map(first.map((message) => [message.id, JSON.stringify(message)]));
      const back = messages.filter(
        (message) => gone.has(message.id) && original.get(message.id) === JSON.stringify(message),
      );
      expect(back.map((message) => message.id)).toEqual([]);
    }
  });

  suite.test('comes to an end: a reduced conversation is not due again and again', async (compactor) => {
    for (const seed of suite.seeds) {
      let context = randomConversation(seed, { parts: 40 });
      let runs = 0;
      for (; runs < PATIENCE; runs++) {
        const outcome = await compactor.compact(context, {
          reason: 'proactive_budget',
          contextWindow: WINDOW,
        });
        if (outcome.status !== 'applied') break;
        context = outcome.messages;
      }
      expect(runs).toBeLessThan(PATIENCE);
    }
  });
}
