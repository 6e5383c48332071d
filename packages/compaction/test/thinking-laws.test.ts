import type { ContentBlock, Message } from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CompactionSettings,
  createCompactor,
  maskOutputs,
  previewArgs,
  truncateArgs,
} from '../src/index.js';
import { conversation } from './arbitraries.js';
import { GOOD_SUMMARY, modelOf } from './models.js';

/** The signed blocks of a message, as a provider would verify them. */
const signedIn = ({ content }: Message) =>
  content.filter((block) => block.type === 'thinking').map((block) => JSON.stringify(block));

/** The conversation with a signature of its own on every thought, redacted thoughts among them. */
const signed = conversation.map((messages) =>
  messages.map((message, index) => ({
    ...message,
    content: message.content.flatMap((block): readonly ContentBlock[] =>
      block.type === 'thinking'
        ? [
            { ...block, signature: `signature ${index} ${'xyz'.repeat(900)}` },
            {
              type: 'thinking',
              thinking: '',
              providerMetadata: { acme: { redacted: `data ${index}` } },
            },
          ]
        : [block],
    ),
  })),
);

const stages = [
  truncateArgs({ triggerMessages: 1, triggerTokens: 1, keepMessages: 0, maxArgLength: 40 }),
  previewArgs({ mode: 'compaction', argThreshold: 0, protectPercent: 0 }),
];
const masked = maskOutputs({ keepRecentToolOutputs: 0 });

/** Ladders that touch messages in every way there is. */
const ladders: Readonly<Record<string, CompactionSettings['stages']>> = {
  'as it comes': undefined,
  summarize: [...stages, 'summarize', 'drop_oldest'],
  mask_outputs: [...stages, masked, 'drop_oldest'],
  native: [...stages, 'native', 'drop_oldest'],
};

describe('signed thinking', { timeout: 60_000 }, () => {
  it.each(Object.entries(ladders))('stays whole or goes whole with its message: %s', async (_, ladder) => {
    let removed = 0;
    let kept = 0;
    await fc.assert(
      fc.asyncProperty(
        signed,
        fc.integer({ min: 100, max: 8_000 }),
        fc.constantFrom('manual', 'proactive_budget', 'request_too_large' as const),
        fc.boolean(),
        async (messages, contextWindow, reason, written) => {
          const model = modelOf(() => GOOD_SUMMARY, {
            compact: async () => ({ content: [] }),
          });
          const compactor = createCompactor({
            trigger: { messages: 12 },
            contextWindow,
            stages: ladder,
            ...(written ? { model } : {}),
          });
          const outcome = await compactor.compact(messages, { reason });
          const after = new Map(outcome.messages.map((message) => [message.id, message]));
          for (const message of messages) {
            const blocks = signedIn(message);
            if (blocks.length === 0) continue;
            const now = after.get(message.id);
            if (now) expect(signedIn(now)).toEqual(blocks);
            if (now) kept++;
            else removed++;
          }
          const known = new Set(messages.flatMap(signedIn));
          for (const block of outcome.messages.flatMap(signedIn)) expect(known).toContain(block);
        },
      ),
      { numRuns: 40 },
    );
    expect(kept).toBeGreaterThan(0);
    expect(removed).toBeGreaterThan(0);
  });
});
