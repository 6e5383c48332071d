import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compaction } from '@x/compaction';
import {
  type AgentEvent,
  compactionCostOf,
  InMemorySession,
  type Model,
  RuntimeContext,
  type SessionStore,
  textOf,
} from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { HarnessAgent } from '@x/harness';
import { inject, it } from 'vitest';
import { openTestedStore, type TestedStore } from './support/tested-store.js';

const context = RuntimeContext.of({ userId: 'u', sessionId: 's' });
const TURNS = 110;
const SUMMARY = [
  '## SESSION INTENT',
  'The user asks about the parts.',
  '## SUMMARY',
  'Each part was looked at, and did what it says.',
  '## ARTIFACTS',
  'None',
  '## NEXT STEPS',
  'Answer the next question.',
].join('\n');

/** A model that chats, and writes summaries when it is asked for one. Each summary reads a million tokens, so that it is found in any sum. */
function chatting(): Model & { readonly summaries: () => number } {
  let turns = 0;
  let summaries = 0;
  return {
    id: 'chatty',
    contextWindow: 32_000,
    summaries: () => summaries,
    async generate({ messages }) {
      const last = messages.at(-1);
      const usage = { inputTokens: 1_000, outputTokens: 10 };
      if (/Condense the conversation|Answer once more/.test(last ? textOf(last) : '')) {
        summaries++;
        return {
          content: [{ type: 'text', text: SUMMARY }],
          finishReason: 'stop',
          usage: { ...usage, inputTokens: 1_000_000 },
        };
      }
      const text = `Answer ${++turns}. ${`We looked at part ${turns}. `.repeat(60)}`;
      return { content: [{ type: 'text', text }], finishReason: 'stop' };
    },
  };
}

const addresses: Readonly<Record<TestedStore['kind'], (directory: string) => string>> = {
  workspace: (directory) => directory,
  directory: (directory) => directory,
  sqlite: (directory) => join(directory, 'sessions.db'),
  redis: () => inject('redisUrl'),
  mysql: () => inject('mysqlUrl'),
  postgres: () => inject('postgresUrl'),
};

const stores = ['memory', 'workspace', 'sqlite', 'redis', 'postgres'] as const;

it.for(stores.flatMap((store) => [1, 2].map((replicas) => [store, replicas] as const)))(
  'a chat of 110 turns pays one summary for each compaction, and reports it: %s, replicas that take turns: %i',
  { timeout: 300_000 },
  async ([kind, replicas], { expect, onTestFinished }) => {
    const directory = mkdtempSync(join(tmpdir(), 'x-paid-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }));
    let session: SessionStore = new InMemorySession();
    if (kind !== 'memory') {
      const part = `x_${randomBytes(6).toString('hex')}`;
      const opened = await openTestedStore({ kind, address: addresses[kind](directory), part });
      onTestFinished(opened.close);
      session = opened.store;
    }
    const model = chatting();
    const events: AgentEvent[] = [];
    const agents = Array.from({ length: replicas }, () =>
      HarnessAgent.builder()
        .name('chat')
        .model(model)
        .use(compaction())
        .session(session)
        .workspace(new LocalWorkspace(directory))
        .onEvent((event) => void events.push(event))
        .build(),
    );
    for (let turn = 0; turn < TURNS; turn++) {
      await agents[turn % replicas]?.call(`Question ${turn}, short.`, context);
    }
    const compactions = events.filter((event) => event.type === 'context.compacted');
    expect(compactions.length).toBeGreaterThanOrEqual(2);
    expect(compactions.map(({ status }) => status)).toEqual(compactions.map(() => 'applied'));
    expect(model.summaries()).toBeLessThanOrEqual(compactions.length * 1.2);
    const reported = events.filter((event) => event.type === 'usage.reported');
    expect(reported.map(({ usage }) => usage.inputTokens)).toEqual(
      Array.from({ length: model.summaries() }, () => 1_000_000),
    );
    const state = await agents[0]?.state(context);
    const cost = state && compactionCostOf(state);
    expect(cost).toMatchObject({ modelCalls: model.summaries(), inputTokens: model.summaries() * 1_000_000 });
    // Most of the text of a long chat need not be sent again and again.
    expect(cost?.savedTokens).toBeGreaterThan(300_000);
    for await (const { compaction: listed } of session.list({ userId: 'u', agentId: 'chat' })) {
      expect(listed).toEqual(cost);
    }
    await Promise.all(agents.map((agent) => agent.close()));
  },
);
