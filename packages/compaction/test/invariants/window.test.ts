import { type Message, toolResultsOf } from '@x/core';
import { pairingOf } from '@x/core/messages';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { firstUserRequest, latestUserRequest, startOfUnseen } from '../../src/conversation/regions.js';
import { type CompactionCapabilityConfig, compaction } from '../../src/index.js';
import { meter } from '../build.js';
import { GOOD_SUMMARY, modelOf } from '../models.js';
import { scopeOf } from '../scope.js';
import { conversations, runs } from './conversations.js';

const configs: readonly CompactionCapabilityConfig[] = [
  {},
  { trigger: { messages: 30 }, keep: { messages: 10 } },
  { trigger: { tokens: 80_000 } },
  { trigger: { share: 0, tokens: 0, messages: 0 } },
  { keep: { messages: 40 } },
  { keep: { tokens: 50_000 } },
  { keep: { share: 0.9 } },
  { saving: { share: 0.9, tokens: 10_000 } },
  { preset: 'agentscope' },
  { preset: 'agentscope', triggerMessages: 30, keepMessages: 25 },
  { preset: 'agentscope', triggerMessages: 0, triggerTokens: 0, truncateArgs: {} },
  { preset: 'everruns' },
  { preset: 'everruns', proactive: false, memoryTiers: { hotMessages: 30 } },
  { preset: 'everruns', strategy: 'observation_masking', observationMasking: { keepRecentToolOutputs: 30 } },
  { preset: 'everruns', strategy: 'infinity_context', infinityContext: { minRecentMessages: 40 } },
  { preset: 'everruns', strategy: 'native' },
  { preset: 'aura' },
  { preset: 'aura', threshold: 0, keepLastMessages: 40, prune: { mode: 'iteration' } },
  { preset: 'aura', maxTokens: 500_000 },
];

/** A result that no model has seen keeps at least so many tokens, with its note. */
const CUT_RESULT = 300;

/** Tokens that nothing may take away: rules, the first and the latest request, and the beginnings of what no model has seen. */
function leastOf(messages: readonly Message[]): number {
  const unseen = startOfUnseen(messages);
  const requests = [firstUserRequest(messages), latestUserRequest(messages)];
  return messages.reduce((sum, message, index) => {
    const results = toolResultsOf(message);
    if (index >= unseen && results.length > 0) return sum + results.length * CUT_RESULT;
    const stays = index >= unseen || requests.includes(index) || message.role === 'system';
    return stays ? sum + meter.message(message) : sum;
  }, 0);
}

/** Without a last call that nobody has answered. */
function answered(messages: readonly Message[]): readonly Message[] {
  const last = pairingOf(messages).groups.at(-1);
  return last?.open ? messages.slice(0, last.start) : messages;
}

describe('a request', { timeout: 300_000 }, () => {
  it('never exceeds the window while something can be reduced, for every preset, trigger and window', async () => {
    let reduced = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...configs),
        fc.constantFrom(4_000, 8_000, 16_000, 32_000),
        fc.array(conversations, { minLength: 2, maxLength: 5 }),
        fc.boolean(),
        async (config, contextWindow, parts, writes) => {
          const summarizer = writes ? modelOf(() => GOOD_SUMMARY) : null;
          const capability = compaction({ ...config, model: summarizer });
          const scope = scopeOf([], { model: modelOf(() => 'unused', { contextWindow }) });
          for (const message of parts.flatMap(answered)) {
            scope.state.contextMutable().push(message);
            const { groups } = pairingOf(scope.state.context);
            if (message.role === 'assistant' || groups.some(({ open }) => open)) continue;
            await capability.aroundReason?.(scope, async () => {
              const { context } = scope.state;
              const frame = meter.frame(scope);
              const sent = frame + meter.messages(context);
              const isReducible = frame + leastOf(context) <= contextWindow / 2;
              if (isReducible) expect(sent).toBeLessThanOrEqual(contextWindow);
              return { content: [], finishReason: 'stop' };
            });
          }
          reduced += scope.events.filter(
            (event) => event.type === 'context.compacted' && event.status === 'applied',
          ).length;
        },
      ),
      runs(40),
    );
    expect(reduced).toBeGreaterThan(30);
  });
});
