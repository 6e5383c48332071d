import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { anthropicCompaction, fromAiSdk, openaiCompaction } from '@x/ai-sdk';
import { type CompactionCapabilityConfig, compaction } from '@x/compaction';
import { type AgentEvent, type Model, RuntimeContext, type SessionStore } from '@x/core';
import { JsonSession, LocalWorkspace } from '@x/core/node';
import { HarnessAgent, todoList } from '@x/harness';
import { MysqlSession } from '@x/session-mysql';
import { PostgresSession } from '@x/session-postgres';
import { RedisSession } from '@x/session-redis';
import { SqliteSession } from '@x/session-sqlite';
import { Redis } from 'ioredis';
import { createPool } from 'mysql2/promise';
import pg from 'pg';
import { describe, expect, inject, it } from 'vitest';
import { FINDING, type ProviderServer, providerServer } from './provider-server.js';

/** Closes something when the test has ended; the last first. */
type Closing = (close: () => unknown) => void;

const stores: Readonly<Record<string, (directory: string, closing: Closing) => Promise<SessionStore>>> = {
  json: async (directory) => new JsonSession({ directory }),
  sqlite: async (directory, closing) => {
    const store = new SqliteSession({ file: join(directory, 'sessions.db') });
    closing(() => store.close());
    return store;
  },
  redis: async (_, closing) => {
    const client = new Redis(inject('redisUrl'));
    closing(() => client.quit());
    return new RedisSession({ client });
  },
  mysql: async (_, closing) => {
    const pool = createPool(inject('mysqlUrl'));
    closing(() => pool.end());
    const store = new MysqlSession({ pool });
    await store.createTables();
    return store;
  },
  postgres: async (_, closing) => {
    const pool = new pg.Pool({ connectionString: inject('postgresUrl') });
    closing(() => pool.end());
    const store = new PostgresSession({ pool });
    await store.createTables();
    return store;
  },
};

const WINDOW = 12_000;
type Kind = 'openai' | 'trigger' | 'anthropic';
const models: Readonly<Record<Kind, (server: ProviderServer, via?: 'trigger') => Model>> = {
  trigger: (server) => models.openai(server, 'trigger'),
  openai(server, via) {
    const compact = openaiCompaction(via ? { via } : {});
    const openai = createOpenAI({ baseURL: server.url, apiKey: 'key', fetch: compact.fetch });
    return fromAiSdk(openai('gpt-5'), {
      compact,
      contextWindow: WINDOW,
      providerOptions: { openai: { store: false } },
    });
  },
  anthropic(server) {
    const compact = anthropicCompaction();
    const anthropic = createAnthropic({ baseURL: server.url, apiKey: 'key', fetch: compact.fetch });
    return fromAiSdk(anthropic('claude-opus-4-6'), { compact, contextWindow: WINDOW, maxOutputTokens: 500 });
  },
};

const REQUIREMENT = 'The price of part K-4711 must be 6700.';

interface Setting {
  readonly server: ProviderServer;
  readonly other: ProviderServer;
  /** Models of a turn: the first answers, the others take over. */
  models: readonly Model[];
}

/** What goes wrong, and from turn 10 on unless it says otherwise. */
const faults: Readonly<Record<string, (setting: Setting, turn: number) => void>> = {
  nothing: () => {},
  'one 503 of the endpoint': ({ server }, turn) => {
    if (turn === 10) server.faults.compaction = 503;
    if (turn === 14) delete server.faults.compaction;
  },
  '503 of the endpoint': ({ server }) => {
    server.faults.compaction = 503;
  },
  '429 of the endpoint': ({ server }) => {
    server.faults.compaction = 429;
  },
  '401 of the endpoint': ({ server }) => {
    server.faults.compaction = 401;
  },
  'a refused item': ({ server }, turn) => {
    if (turn === 10 || turn === 15) server.rotateKey();
  },
  'another server behind the address': ({ server }, turn) => {
    server.faults.foreign = turn < 15;
  },
  'items of 60 kB': ({ server }) => {
    server.faults.size = 60_000;
  },
  'answers that are cut off': ({ server }, turn) => {
    if (turn === 10) server.faults.compaction = 'cut off';
    if (turn === 12) delete server.faults.compaction;
  },
  'another provider takes over': ({ server }, turn) => {
    if (turn === 10) server.faults.answers = 401;
    if (turn === 13) delete server.faults.answers;
  },
  'a switch of providers and back': (setting, turn) => {
    if (turn === 10 || turn === 15) setting.models = setting.models.toReversed();
  },
};

const REFUSES = ['a refused item', 'another server behind the address'];

async function placeFor(closing: Closing): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'native-'));
  closing(() => rm(directory, { recursive: true, force: true, maxRetries: 20 }));
  return directory;
}

/** Twenty turns with one store, of which the fault has its way from one on. */
async function twentyTurns(
  store: SessionStore,
  kind: Kind,
  fault: string,
  closing: Closing,
  config: CompactionCapabilityConfig = { trigger: { tokens: 3_500 }, keep: { messages: 2 } },
  from = 10,
) {
  const directory = await placeFor(closing);
  const [server, other] = [await providerServer(), await providerServer()];
  closing(() => Promise.all([server.close(), other.close()]));
  const setting: Setting = {
    server,
    other,
    // Where an item is refused nobody may take over: the same model has to go on.
    models: [
      models[kind](server),
      ...(REFUSES.includes(fault) ? [] : [models[kind === 'anthropic' ? 'openai' : 'anthropic'](other)]),
    ],
  };
  const events: AgentEvent[] = [];
  const context = RuntimeContext.of({ sessionId: `${kind}-${fault.replaceAll(' ', '-')}` });
  const asked: string[] = [];
  for (let turn = 1; turn <= 20; turn++) {
    if (turn >= from) faults[fault]?.(setting, turn);
    const [model, ...fallback] = setting.models as readonly [Model, ...Model[]];
    // A new agent each turn: all comes from the store.
    const agent = HarnessAgent.builder()
      .name('worker')
      .systemPrompt('You work.')
      .model(model, { fallback })
      .workspace(new LocalWorkspace(directory))
      .session(store)
      .use(compaction({ ...config, recall: false }), todoList())
      .settings({ maxRetries: 0, retryDelayMs: 0 })
      .onEvent((event) => void events.push(event))
      .build();
    const words = { 1: REQUIREMENT, 3: 'Find the shelf of the part.' }[turn] ?? `Go on with part ${turn}.`;
    const reply = await agent.call(words, context);
    asked.push(reply.stopReason);
    await agent.close();
  }
  return { server, other, events, asked };
}

/** Expects what was said and found early in every request of a turn after the third, whoever answered it. */
function expectFacts(...servers: readonly ProviderServer[]): void {
  const requests = servers
    .flatMap(({ taken }) => taken)
    .filter(({ body }) => {
      const last = JSON.stringify(((body.input ?? body.messages) as readonly unknown[]).at(-1));
      return last.includes('Go on with part') && !last.includes('part 2.') && body.compaction === undefined;
    });
  expect(requests.length).toBeGreaterThanOrEqual(15);
  for (const { readable } of requests) {
    for (const fact of ['K-4711', '6700', FINDING]) expect(readable).toContain(fact);
  }
}

const storeNames = Object.keys(stores);
const KINDS = ['openai', 'anthropic'] as const;
/** Each fault with each provider on one store after the other; with `X_FAULTS=all` on every store. */
const faultsOn = (store: string): readonly (readonly [Kind, string])[] => [
  ...Object.keys(faults).flatMap((fault, index) =>
    KINDS.filter((_, kind) => {
      const turn = (index * KINDS.length + kind) % storeNames.length;
      return process.env.X_FAULTS === 'all' || store === storeNames[turn];
    }).map((kind) => [kind, fault] as const),
  ),
  ['trigger', store === 'json' ? 'nothing' : 'a refused item'],
];

describe.each(storeNames)('native compaction on %s', { timeout: 120_000 }, (name) => {
  // Side by side: where a compaction is tried again, most of the time is a wait.
  it.concurrent.for(faultsOn(name))('%s loses nothing: %s', async ([kind, fault], { onTestFinished }) => {
    const closing: Closing = (close) => onTestFinished(async () => void (await close()));
    const open = stores[name] as (typeof stores)[string];
    const store = await open(await placeFor(closing), closing);
    const { server, other, events, asked } = await twentyTurns(store, kind, fault, closing);
    expect(asked).toEqual(Array.from({ length: 20 }, () => 'completed'));
    expect([...server.refused, ...other.refused]).toEqual([]);
    expect(server.compactions).toBeGreaterThan(0);

    expectFacts(server, other);
    const told = events.flatMap((event) =>
      event.type === 'warning' ? event.message : event.type === 'context.compacted' ? event.message : [],
    );
    expect(told.some((detail) => detail.startsWith('reduced by native'))).toBe(true);
    expect(told.some((message) => message.includes('no longer reads'))).toBe(REFUSES.includes(fault));
  });
});

/** Ladders without a summary by a model. */
const ladders: readonly CompactionCapabilityConfig[] = [
  { preset: 'everruns', strategy: 'native', budgetPercent: 0.3 },
  { trigger: { tokens: 3_500 }, keep: { messages: 2 }, stages: ['native', 'drop_oldest'] },
];

describe.each(ladders)('%j where the endpoint never works', { timeout: 120_000 }, (config) => {
  it.concurrent.for(KINDS)('has the record on %s', async (kind, { onTestFinished }) => {
    const closing: Closing = (close) => onTestFinished(async () => void (await close()));
    const store = new JsonSession({ directory: await placeFor(closing) });
    const fault = '503 of the endpoint';
    const { server, other, events, asked } = await twentyTurns(store, kind, fault, closing, config, 1);
    expect(asked).toEqual(Array.from({ length: 20 }, () => 'completed'));
    expect(server.compactions).toBe(0);
    expectFacts(server, other);
    const [first] = events.filter((event) => event.type === 'context.compacted');
    expect(first?.message).toMatch(/^reduced by summarize.*; native: /);
  });
});
