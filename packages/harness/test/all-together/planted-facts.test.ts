import { compaction } from '@x/compaction';
import {
  type AgentEvent,
  InMemorySession,
  type JsonValue,
  type Model,
  type ModelResponse,
  RuntimeContext,
  textOf,
  toolResultsOf,
} from '@x/core';
import { memory, sessionHistory } from '@x/memory';
import { expect, it } from 'vitest';
import { HarnessAgent } from '../../src/index.js';
import { scratch } from '../support.js';

const TURNS = Number(process.env.X_TURNS ?? 150);
const FACTS = TURNS / 10;
/** A compaction is due every 40 turns; before each, or an hour after the last, what was said is flushed. */
const COMPACTIONS = Math.floor((TURNS - 45) / 45);
const talk = RuntimeContext.of({ userId: 'alice', sessionId: 'talk' });
const later = RuntimeContext.of({ userId: 'alice', sessionId: 'later' });
const others = RuntimeContext.of({ userId: 'bob', sessionId: 'talk' });

const PLACES = ['Zurich', 'Lisbon', 'Oslo', 'Kyoto', 'Quito', 'Accra', 'Perth', 'Tallinn', 'Cusco', 'Hanoi'];
const THINGS = ['database', 'printer', 'gateway', 'archive', 'turbine'];

/** A fact, how one would ask for it, and what must come back. Said in passing, once. */
const planted = Array.from({ length: FACTS }, (_, index) => {
  const place = PLACES[index % PLACES.length];
  const thing = THINGS[Math.floor(index / PLACES.length)];
  const answer = `heron-${7000 + 37 * index}`;
  return {
    text: `Remember that the ${thing} in ${place} is called ${answer}.`,
    query: `${thing} ${place}`,
    answer,
  };
});

/** What is said in a turn: mostly small talk with names and numbers in it too. */
function said(turn: number): string {
  const fact = turn % (TURNS / FACTS) === 3 ? planted[Math.floor(turn / (TURNS / FACTS))] : undefined;
  const place = PLACES[(turn * 7) % PLACES.length];
  const small = `Step ${turn}: is the weather in ${place} any better than it was ${turn % 9} days ago, do you think?`;
  return fact === undefined ? small : `${small} ${fact.text}`;
}

/** Answers small talk, and looks a fact up wherever it can when it is asked to. */
const model: Model = {
  id: 'talker',
  contextWindow: 1_000_000,
  async generate({ messages }): Promise<ModelResponse> {
    // Behind it may stand what a capability reminds of.
    const last = messages.findLast(({ kind }) => kind === undefined);
    const asked = last?.role === 'user' ? /^look up (\d+)$/.exec(textOf(last))?.[1] : undefined;
    const query = planted[Number(asked ?? -1)]?.query;
    if (query === undefined) return { content: [{ type: 'text', text: 'I see.' }], finishReason: 'stop' };
    const call = (name: string, input: JsonValue) => ({
      type: 'tool_use' as const,
      id: `${name} ${query}`,
      name,
      input,
    });
    return {
      content: ['memory_search', 'session_search', 'recall'].map((name) => call(name, { query })),
      finishReason: 'tool-calls',
    };
  },
};

/** Notes what it is asked to remember, word for word, and merges notes word for word. */
const keeper: Model = {
  id: 'keeper',
  async generate({ messages }): Promise<ModelResponse> {
    const prompt = messages.map((message) => textOf(message)).join('\n');
    const said = prompt.matchAll(/^\[\w{8} #(\d+) \S+ user\] .*(Remember that .*)$/gm);
    const notes = prompt.matchAll(/^(n\d+) \([^)]*\): (.*)$/gm);
    const lines = prompt.includes('<transcript>')
      ? [...said].map(([, number, text]) => `- ${text} [#${number}]`)
      : [...notes].map(([, note, text]) => `ADD ${note}: ${text}`);
    const none = prompt.includes('<transcript>') ? 'NO_REPLY' : 'NO_CHANGE';
    return { content: [{ type: 'text', text: lines.join('\n') || none }], finishReason: 'stop' };
  },
};

it(`finds every one of ${FACTS} facts again through the tools after ${TURNS} turns and ${COMPACTIONS} compactions`, {
  timeout: 300_000,
}, async () => {
  const compacted: AgentEvent[] = [];
  let read = 0;
  const failed: AgentEvent[] = [];
  const agent = HarnessAgent.builder()
    .name('talker')
    .model(model)
    .workspace(scratch())
    .session(new InMemorySession())
    .use(
      compaction({ model: null, trigger: { messages: 90 }, keep: { messages: 10 } }),
      // Flushed before compactions, and when there was a pause.
      memory({ model: keeper, flush: 'throttled', flushGapMs: 3_600_000, consolidationGapMs: 0 }),
      sessionHistory(),
    )
    .onEvent((event) => {
      if (event.type === 'context.compacted' && event.status === 'applied') compacted.push(event);
      if (event.type === 'memory.flushed') read += event.messages;
      if (event.type === 'memory.failed') failed.push(event);
    })
    .build();
  for (let turn = 0; turn < TURNS; turn++) await agent.call(said(turn), talk);
  expect(compacted.length).toBeGreaterThanOrEqual(COMPACTIONS);
  // The throttle lets one pass after a turn; the rest is due to the compactions, in the background.
  await expect.poll(() => read).toBeGreaterThan(80 * COMPACTIONS);

  const context = (await agent.state(talk))?.context ?? [];
  expect(context.length).toBeLessThan(120);

  /** What each tool answers in a session. */
  const lookUp = async (index: number, session: RuntimeContext) => {
    await agent.call(`look up ${index}`, session);
    const messages = (await agent.state(session))?.context ?? [];
    const results = messages.slice(-4).flatMap(toolResultsOf);
    return Object.fromEntries(results.map((result) => [result.toolName, textOf([result])]));
  };
  const missed = { memory_search: 0, session_search: 0, recall: 0 };
  for (const [index, { answer }] of planted.entries()) {
    const here = await lookUp(index, talk);
    const there = await lookUp(index, later);
    if (!here.recall?.includes(answer)) missed.recall++;
    if (!there.session_search?.includes(answer)) missed.session_search++;
    if (!there.memory_search?.includes(answer)) missed.memory_search++;
  }
  expect(missed).toEqual({ memory_search: 0, session_search: 0, recall: 0 });
  expect(JSON.stringify(await lookUp(0, others))).not.toContain('heron');
  expect(failed).toEqual([]);
  await agent.close();
});
