import { ContextOverflowError, type Message, type Model, type ModelResponse, userMessage } from '@x/core';
import { assertAccounted, assertPaired, assertWellFormed } from '@x/test-support';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CompactionSettings, createCompactor } from '../../src/index.js';
import { conversation, damagedConversation, text } from '../arbitraries.js';
import { GOOD_SUMMARY, modelOf, said } from '../models.js';

const reason = fc.constantFrom('manual', 'proactive_budget', 'request_too_large' as const);
const ladder = fc.constantFrom<CompactionSettings['stages']>(
  undefined,
  ['native', 'summarize', 'drop_oldest'],
  ['mask_outputs', 'drop_oldest'],
  ['truncate_args', 'trim_synthetic', 'mask_outputs', 'summarize', 'drop_oldest'],
);
const window = fc.oneof(
  fc.constantFrom(8, 100, 1_000, 4_000, 32_000, 2_000_000),
  fc.integer({ min: 8, max: 8_000 }),
);

const answers: Record<string, () => string | ModelResponse> = {
  good: () => GOOD_SUMMARY,
  empty: () => '',
  blank: () => ' \n\t ',
  refusal: () => 'I cannot help with that.',
  length: () => said(GOOD_SUMMARY, 'length'),
  filtered: () => said(GOOD_SUMMARY, 'content-filter'),
  call: () => ({
    content: [
      { type: 'text', text: GOOD_SUMMARY },
      { type: 'tool_use', id: 'x', name: 'read_file', input: {} },
    ],
    finishReason: 'stop',
  }),
  thinking: () => ({ content: [{ type: 'thinking', thinking: GOOD_SUMMARY }], finishReason: 'stop' }),
  huge: () => `${GOOD_SUMMARY}\n${'more '.repeat(50_000)}`,
  throwing: () => {
    throw new Error('the provider is down');
  },
  overflowing: () => {
    throw new ContextOverflowError();
  },
};
const answer = fc.constantFrom(...Object.keys(answers));
const summarizer = answer.map((name): Model => modelOf(answers[name] as () => string));

describe('every compaction', { timeout: 300_000 }, () => {
  it('keeps calls with results, accounts for every message, and ends, for any window, ladder and summarizer', async () => {
    await fc.assert(
      fc.asyncProperty(
        conversation,
        window,
        ladder,
        reason,
        summarizer,
        async (messages, contextWindow, stages, why, model) => {
          const before = structuredClone(messages);
          const compactor = createCompactor({
            contextWindow,
            stages,
            model,
            trigger: { messages: 12 },
          });
          const outcome = await compactor.compact(messages, { reason: why });

          expect(messages).toEqual(before);
          assertPaired(outcome.messages);
          assertAccounted(messages, outcome);
          assertWellFormed(outcome.messages);
          if (outcome.status === 'applied') {
            expect(outcome.tokensAfter).toBeLessThanOrEqual(contextWindow);
            expect(
              outcome.tokensAfter < outcome.tokensBefore || outcome.messagesAfter < outcome.messagesBefore,
            ).toBe(true);
          } else {
            expect(outcome.messages).toBe(messages);
            expect(outcome.message).not.toBe('');
          }
        },
      ),
      { numRuns: 100 },
    );
  });

  it('holds its promises over chains, with new messages in between', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(conversation, { minLength: 2, maxLength: 5 }),
        window,
        answer,
        async (parts, contextWindow, name) => {
          const compactor = createCompactor({
            contextWindow,
            trigger: { messages: 10 },
            ...(name === 'good' ? {} : { model: modelOf(answers[name] as () => string) }),
          });
          let context: readonly Message[] = [];
          const everything = new Set<string>();
          const gone = new Set<string>();
          for (const part of parts) {
            context = [...withoutOpen(context), ...part];
            for (const message of part) everything.add(message.id);
            const outcome = await compactor.compact(context, { reason: 'proactive_budget' });
            assertPaired(outcome.messages);
            assertAccounted(context, outcome);
            for (const entry of outcome.manifest) gone.add(entry.messageId);
            context = outcome.messages;
            expect(context.filter((message) => message.kind === 'summary').length).toBeLessThanOrEqual(1);
          }
          const there = new Set(withoutOpen(context).map((message) => message.id));
          for (const id of everything) expect(there.has(id) || gone.has(id) || isOpen(parts, id)).toBe(true);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('never commits what a bad summarizer said', async () => {
    const bad = answer.filter((name) => name !== 'good' && name !== 'huge');
    await fc.assert(
      fc.asyncProperty(conversation, bad, async (messages, name) => {
        const compactor = createCompactor({
          stages: ['summarize', 'drop_oldest'],
          contextWindow: 4_000,
          keep: { messages: 2 },
          model: modelOf(answers[name] as () => string),
          summary: { fallback: 'none' },
        });
        const outcome = await compactor.compact(messages);
        const told = outcome.messages.some((message) => message.kind === 'summary');
        expect(told).toBe(false);
      }),
      { numRuns: 100 },
    );
  });

  it('leaves no call or result alone in a damaged conversation that it reduces', async () => {
    await fc.assert(
      fc.asyncProperty(damagedConversation, window, async (messages, contextWindow) => {
        const outcome = await createCompactor({ contextWindow }).compact(messages);
        assertAccounted(messages, outcome);
        if (outcome.status === 'applied') assertPaired(outcome.messages);
        else expect(outcome.messages).toBe(messages);
      }),
      { numRuns: 100 },
    );
  });

  it('keeps the latest user request and open calls word for word', async () => {
    await fc.assert(
      fc.asyncProperty(conversation, text, window, reason, async (messages, last, contextWindow, why) => {
        const request = userMessage(last || 'and now?');
        const list = [...withoutOpen(messages), request];
        const outcome = await createCompactor({ contextWindow, trigger: { messages: 3 } }).compact(list, {
          reason: why,
        });
        expect(outcome.messages).toContain(request);
      }),
      { numRuns: 100 },
    );
  });
});

function withoutOpen(messages: readonly Message[]): readonly Message[] {
  return messages.filter((message) => !hasOpenCall(message));
}

function isOpen(parts: readonly (readonly Message[])[], id: string): boolean {
  return parts.some((part) => part.some((message) => message.id === id && hasOpenCall(message)));
}

function hasOpenCall(message: Message): boolean {
  return message.content.some((block) => block.type === 'tool_use' && block.id.startsWith('open'));
}
