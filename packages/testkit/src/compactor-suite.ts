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

export interface CompactorSuiteOptions extends SuiteTestsOptions {
  /** For the report. */
  readonly name: string;
  /** A new compactor. It is told the window with every call. */
  create(): Compactor | Promise<Compactor>;
  /** How many conversations each law is tried on; default 20. */
  readonly conversations?: number | undefined;
}

/** What the aspects of the suite register their tests with. */
class CompactorSuite extends SuiteTests {
  /** The seeds of the conversations that each law is tried on. */
  readonly seeds: readonly number[];
  readonly #create: CompactorSuiteOptions['create'];

  constructor(options: CompactorSuiteOptions) {
    super(options);
    this.#create = () => options.create();
    this.seeds = Array.from({ length: options.conversations ?? 20 }, (_, index) => index + 1);
  }

  /** A test with a fresh compactor. */
  test(name: string, run: (compactor: Compactor) => Promise<void>): void {
    this.register(name, async () => run(await this.#create()));
  }
}

/**
 * Registers, with vitest, the tests that every `Compactor` must pass. Call it at the top of a test file.
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
/** From far too small for anything, to far larger than every conversation of the suite. */
const WINDOWS = [64, 2_000, 8_000, 1_000_000];

type Law = (before: readonly Message[], outcome: CompactionOutcome) => void;

const LAWS: Readonly<Record<string, Law>> = {
  'keeps every call with its results': (_, outcome) => assertPaired(outcome.messages),
  'accounts for every message exactly once': assertAccounted,
  'gives back the very list when nothing was applied': assertUntouched,
  'keeps text well-formed': (_, outcome) => assertWellFormed(outcome.messages),
  'keeps the latest request and open calls word for word': assertCurrent,
  'reports what it did': assertReport,
};

/** What holds for one compaction of any conversation, for any window and reason. */
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

  suite.test('never changes what it is given', async (compactor) => {
    for (const seed of suite.seeds) {
      const messages = randomConversation(seed);
      const before = structuredClone(messages);
      await compactor.compact(messages, { contextWindow: 4_000 });
      expect(messages).toEqual(before);
    }
  });

  suite.test('changes nothing by a plan', async (compactor) => {
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

  suite.test('makes a conversation that is too long fit', async (compactor) => {
    const messages = randomConversation(7, { parts: 120 });
    const outcome = await compactor.compact(messages, { reason: 'request_too_large', contextWindow: 16_000 });
    expect(outcome.tokensBefore).toBeGreaterThan(16_000);
    expect(outcome).toMatchObject({ status: 'applied' });
    expect(outcome.tokensAfter).toBeLessThanOrEqual(16_000);
  });

  suite.test('gives back the very list when it is aborted', async (compactor) => {
    const messages = randomConversation(7, { parts: 120 });
    const signal = AbortSignal.abort(new Error('enough'));
    const outcome = await compactor.compact(messages, { contextWindow: 4_000, signal });
    expect(outcome.status).toBe('aborted');
    expect(outcome.messages).toBe(messages);
  });
}

const LENGTH = 4;
const WINDOW = 6_000;
/** Compactions without a new message in between, after which there must be nothing left to do. */
const PATIENCE = 12;

/** What holds over compactions of one conversation that goes on between them. */
function chains(suite: CompactorSuite): void {
  suite.test('loses track of no message over a chain', async (compactor) => {
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

  suite.test('does not bring back what it took out', async (compactor) => {
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

  suite.test('ends: what it made smaller is not due again and again', async (compactor) => {
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
