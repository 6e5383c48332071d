import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { anthropicCompaction, fromAiSdk, openaiCompaction } from '@x/ai-sdk';
import { compaction } from '@x/compaction';
import { type AgentEvent, type Model, RuntimeContext, userMessage } from '@x/core';
import { toSnakeCase } from '@x/core/internal';
import { JsonSession } from '@x/core/node';
import { HarnessAgent } from '@x/harness';
import { describe, expect, it } from 'vitest';
import { directory, server, withProvider } from './of-test.js';

withProvider();

const edits = [
  {
    type: 'clear_tool_uses_20250919',
    trigger: { type: 'input_tokens', value: 30_000 },
    keep: { type: 'tool_uses', value: 3 },
    clearAtLeast: { type: 'input_tokens', value: 5_000 },
    clearToolInputs: true,
    excludeTools: ['web_search'],
  },
  {
    type: 'compact_20260112',
    trigger: { type: 'input_tokens', value: 1_500 },
    instructions: 'Keep the prices.',
    pauseAfterCompaction: false,
  },
] as const;

const models = {
  openai() {
    const compact = openaiCompaction({ threshold: 1_500 });
    const openai = createOpenAI({ baseURL: server.url, apiKey: 'key', fetch: compact.fetch });
    return fromAiSdk(openai('gpt-5'), {
      compact,
      contextWindow: 100_000,
      providerOptions: { openai: { store: false } },
    });
  },
  anthropic(own: readonly (typeof edits)[number][] = edits) {
    const compact = anthropicCompaction();
    const anthropic = createAnthropic({ baseURL: server.url, apiKey: 'key', fetch: compact.fetch });
    return fromAiSdk(anthropic('claude-opus-4-6'), {
      compact,
      contextWindow: 100_000,
      maxOutputTokens: 500,
      providerOptions: { anthropic: { contextManagement: { edits: own } } } as never,
    });
  },
};

/** Turns of agents that have nothing but the store in common. */
async function talk(
  make: () => Model,
  turns: number,
  {
    streams,
    between,
    compacts = false,
  }: { streams: boolean; between?: (turn: number) => void; compacts?: boolean },
) {
  const events: AgentEvent[] = [];
  const texts: string[] = [];
  const context = RuntimeContext.of({ sessionId: 's' });
  for (let turn = 1; turn <= turns; turn++) {
    between?.(turn);
    const builder = HarnessAgent.builder()
      .name('worker')
      .model(make())
      .workspace(directory)
      .session(new JsonSession({ directory }))
      .settings({ maxRetries: 0 });
    if (compacts) builder.use(compaction({ trigger: { messages: 8 }, keep: { messages: 2 }, recall: false }));
    const agent = builder.build();
    const words = turn === 2 ? 'Find the shelf of the part.' : `Go on with part ${turn}.`;
    if (streams) {
      let text = '';
      for await (const event of agent.stream(words, context)) {
        events.push(event);
        if (event.type === 'text.delta') text += event.text;
      }
      texts.push(text);
    } else texts.push((await agent.call(words, context)).text);
    await agent.close();
  }
  return { events, texts };
}

/** The items or blocks of compactions in a request. */
const compactionsIn = (body: Readonly<Record<string, unknown>>) => {
  const messages = (body.input ?? body.messages) as readonly { content?: unknown; type?: string }[];
  const parts = messages.flatMap((it) =>
    Array.isArray(it.content) ? (it.content as { type: string }[]) : [it],
  );
  return parts.filter(({ type }) => type === 'compaction');
};

describe.each([true, false])('what a server compacts within its answers (streamed: %s)', (streams) => {
  it.each(['openai', 'anthropic'] as const)('goes back to %s as it was given', async (kind) => {
    const { texts } = await talk(() => models[kind](), 12, { streams });
    expect(server.refused).toEqual([]);
    expect(server.compactions).toBeGreaterThan(2);
    // The server compared each with what it gave.
    const last = server.taken.at(-1)?.body ?? {};
    expect(compactionsIn(last).length).toBeGreaterThanOrEqual(server.compactions - 1);
    expect(texts).toHaveLength(12);
    for (const text of texts) expect(text).toMatch(/^(?:Done \d+\.|The part lies)/);
  });
});

it('OpenAI’s is left out once it is refused, and the conversation is there', async () => {
  const between = (turn: number) => void (turn === 8 && server.rotateKey());
  const { events } = await talk(models.openai, 12, { streams: true, between });
  expect(events.filter(({ type }) => type === 'call.failed')).toEqual([]);
  expect(JSON.stringify(events)).toContain('no longer reads');
  for (const { readable } of server.taken.slice(8)) expect(readable).toContain('38-B');
});

it('Anthropic’s edits are sent with every field, and their effect is told', async () => {
  const messages = [userMessage('Go on with part 1.')];
  const { providerMetadata } = await models.anthropic().generate({ messages, tools: [] });
  expect(providerMetadata).toMatchObject({
    anthropic: { contextManagement: { appliedEdits: [{ type: edits[0].type, clearedToolUses: 2 }, {}] } },
  });
  expect(server.taken.at(-1)?.body.context_management).toEqual({
    edits: edits.map((edit) =>
      Object.fromEntries(Object.entries(edit).map(([key, value]) => [toSnakeCase(key), value])),
    ),
  });
});

it('Anthropic’s edits stand beside the compaction that is asked for, whose block has every field', async () => {
  await talk(() => models.anthropic([edits[0]]), 12, { streams: true, compacts: true });
  expect(server.refused).toEqual([]);
  expect(server.compactions).toBeGreaterThan(1);
  const [block] = compactionsIn(server.taken.at(-1)?.body ?? {});
  expect(Object.keys(block ?? {})).toEqual([
    'type',
    'content',
    'encrypted_content',
    'signature',
    'tool_changes',
  ]);
});
