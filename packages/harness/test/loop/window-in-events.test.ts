import { compaction } from '@x/compaction';
import {
  type AgentEvent,
  estimateCounter,
  InMemorySession,
  type Model,
  type ModelResponse,
  RuntimeContext,
} from '@x/core';
import { countMessages } from '@x/core/messages';
import { describe, expect, it } from 'vitest';
import { HarnessAgent } from '../../src/index.js';
import { scratch } from '../support.js';

const context = RuntimeContext.of({ userId: 'u', sessionId: 's' });

describe('the size of the window in events', () => {
  it.each([0.7, 1, 1.5])('is counted like the provider, which counts %d of our tokens', async (ratio) => {
    let reported = 0;
    const model: Model = {
      id: 'other-tokens',
      contextWindow: 100_000,
      async generate({ messages, system = '' }): Promise<ModelResponse> {
        const counted = countMessages(estimateCounter, messages) + estimateCounter.count(system);
        reported = Math.round(counted * ratio);
        const text = 'We talk and talk about all of it. '.repeat(900);
        return {
          content: [{ type: 'text', text }],
          finishReason: 'stop',
          usage: { inputTokens: reported, outputTokens: 2_000 },
        };
      },
    };
    const events: AgentEvent[] = [];
    const agent = HarnessAgent.builder()
      .model(model)
      .use(compaction({ model: null }))
      .session(new InMemorySession())
      .workspace(scratch())
      .onEvent((event) => void events.push(event))
      .build();
    for (let turn = 0; turn < 5; turn++) await agent.call('And what else?', context);
    const usage = events.findLast((event) => event.type === 'model.started')?.context;
    const { total = 0, contextWindow, ...parts } = usage ?? {};
    expect(contextWindow).toBe(100_000);
    expect(Object.values(parts).reduce((sum, part) => sum + part, 0)).toBe(total);
    expect(total).toBeGreaterThan(reported * 0.95);
    expect(total).toBeLessThan(reported * 1.05);
    await agent.close();
  });
});
