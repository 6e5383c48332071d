import { createCompactor } from '@x/compaction';
import { randomConversation } from '@x/test-support';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { SdkMessage } from '../../src/agent/sdk-message.js';
import { prepareStepWith } from '../../src/index.js';
import { rulesOf } from '../../src/prompt/provider-rules.js';
import { toPrompt } from '../../src/prompt/to-prompt.js';

const acme = { specificationVersion: 'v3', provider: 'acme', modelId: 'large' } as const;
const target = { ...acme, rules: rulesOf(acme) };

/** A generated conversation as the SDK would hold it. */
function conversation(seed: number): readonly SdkMessage[] {
  const messages = randomConversation(seed);
  return toPrompt({ messages }, target) as readonly SdkMessage[];
}

/** Calls and results by id, in order. */
function pairing(messages: readonly SdkMessage[]) {
  const ids = (type: string) =>
    messages.flatMap(({ content }) =>
      typeof content === 'string'
        ? []
        : content.flatMap((part) => (part.type === type && 'toolCallId' in part ? [part.toolCallId] : [])),
    );
  return { calls: ids('tool-call').sort(), results: ids('tool-result').sort() };
}

it('never parts a call from its result, and repeats itself for the same conversation', async () => {
  let reduced = 0;
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 100_000 }), async (seed) => {
      const messages = conversation(seed);
      const before = pairing(messages);
      fc.pre(JSON.stringify(before.calls) === JSON.stringify(before.results));
      const compactor = createCompactor({
        contextWindow: 4_000,
        trigger: { messages: 12 },
        keep: { messages: 4 },
      });
      const prepareStep = prepareStepWith(compactor);
      const first = await prepareStep({ messages });
      const { calls, results } = pairing(first.messages);
      expect(results).toEqual(calls);
      const again = await prepareStep({ messages: structuredClone(messages) });
      if (first.messages.length < messages.length) {
        reduced++;
        expect(JSON.stringify(again.messages)).toBe(JSON.stringify(first.messages));
      }
    }),
    { numRuns: 60 },
  );
  expect(reduced).toBeGreaterThan(10);
});
