import { createAnthropic } from '@ai-sdk/anthropic';
import { createCompactor, dropOldest } from '@x/compaction';
import type { Compactor, Model } from '@x/core';
import { generateText, type ModelMessage, type ToolSet } from 'ai';
import { describe, expect, it } from 'vitest';
import { prepareStepWith, withOverflowRecovery } from '../../src/index.js';
import { anthropicAnswer } from '../support/answers.js';
import { type Answer, modelServer } from '../support/model-server.js';

const searched = (turn: number) =>
  anthropicAnswer([
    { type: 'text', text: 'Let me look. ' },
    { type: 'server_tool_use', id: `srvtoolu_${turn}`, name: 'web_search', input: { query: `q${turn}` } },
    {
      type: 'web_search_tool_result',
      tool_use_id: `srvtoolu_${turn}`,
      content: [
        {
          type: 'web_search_result',
          url: `https://example.com/${turn}`,
          title: 'A page',
          page_age: null,
          encrypted_content: `secret-${turn}`,
        },
      ],
    },
    { type: 'text', text: `Found ${turn}. ${'More of it. '.repeat(60)}` },
  ]);

/** Anthropic's rule: every call of a tool that it runs has its result behind it, and every result its call before it. */
function unpaired(body: Record<string, unknown>): readonly string[] {
  const messages = body.messages as { content: { type: string; id?: string; tool_use_id?: string }[] }[];
  const blocks = messages.flatMap(({ content }) => content);
  const calls = blocks.flatMap(({ type, id }) => (type === 'server_tool_use' && id ? [id] : []));
  const results = blocks.flatMap(({ type, tool_use_id: id }) =>
    type.endsWith('_tool_result') && id ? [id] : [],
  );
  return [...calls.filter((id) => !results.includes(id)), ...results.filter((id) => !calls.includes(id))];
}

const summarizer: Model = {
  id: 'summarizer',
  generate: async () => ({
    content: [
      {
        type: 'text',
        text: '## SESSION INTENT\nLook\n## SUMMARY\nLooked\n## ARTIFACTS\nnone\n## NEXT STEPS\nnone',
      },
    ],
    finishReason: 'stop',
  }),
};
const window = { contextWindow: 3_000, target: 0.8 };
const strategies: readonly (readonly [string, Compactor])[] = [
  ['the ladder', createCompactor({ ...window, keep: { messages: 2 } })],
  [
    'a summary alone',
    createCompactor({
      ...window,
      keep: { messages: 6 },
      model: summarizer,
      summary: { maxTokens: 200 },
      stages: ['summarize'],
    }),
  ],
  ['dropping alone', createCompactor({ ...window, stages: [dropOldest()] })],
];

describe.each(strategies)('tools that the provider runs, under %s', (_, compactor) => {
  it.each(['prepareStepWith', 'withOverflowRecovery'])('go back as whole pairs with %s', async (how) => {
    const TURNS = 12;
    const refused: Answer = {
      status: 400,
      json: { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: 9 > 8' } },
    };
    const answers = Array.from({ length: TURNS }, (_, turn) => searched(turn));
    const last = how === 'prepareStepWith' ? [] : [refused];
    const server = await modelServer(...answers, ...last, searched(99));
    const anthropic = createAnthropic({ baseURL: server.url, apiKey: 'key' });
    const plain = anthropic('claude-sonnet-4-5');
    const overflowing = how === 'withOverflowRecovery';
    const model = overflowing ? withOverflowRecovery(plain, compactor) : plain;
    const tools = { web_search: anthropic.tools.webSearch_20250305() } as ToolSet;
    const messages: ModelMessage[] = [];
    for (let turn = 0; turn <= TURNS; turn++) {
      messages.push({ role: 'user', content: `Question ${turn}` });
      const prepare = overflowing ? {} : { prepareStep: prepareStepWith(compactor) };
      const { response } = await generateText({ model, tools, messages, maxRetries: 0, ...prepare });
      messages.push(...response.messages);
    }
    for (const body of server.bodies) expect(unpaired(body)).toEqual([]);
    // The last search is whole: nothing was short enough to be taken apart.
    expect(JSON.stringify(server.bodies.at(-1))).toContain(`secret-${TURNS - 1}`);
  });
});
