import {
  assistantMessage,
  type Message,
  systemMessage,
  type ToolUseBlock,
  textOf,
  toolResultMessage,
  userMessage,
} from '@x/core';
import { assertAccounted, assertPaired } from '@x/test-support';
import { describe, expect, it } from 'vitest';
import { compaction, createCompactor, type Stage } from '../../src/index.js';
import { lines } from '../build.js';
import { GOOD_SUMMARY, modelOf } from '../models.js';
import { scopeOf } from '../scope.js';

const call = (id: string): ToolUseBlock => ({
  type: 'tool_use',
  id,
  name: 'read_file',
  input: { text: lines(300) },
});
const results = () => ['a', 'b', 'c', 'd'].map((id) => toolResultMessage(call(id), lines(300)));
const unpaired: Readonly<Record<string, () => readonly Message[]>> = {
  'results without calls': results,
  'results without calls behind a system message': () => [systemMessage('Be careful.'), ...results()],
};

describe('a conversation of which nothing can be kept', () => {
  for (const [what, messages] of Object.entries(unpaired)) {
    it.each(['manual', 'proactive_budget', 'request_too_large'] as const)(
      `is never replaced by none: a note says what was taken out: ${what}, %s`,
      async (reason) => {
        for (const model of [null, modelOf(() => GOOD_SUMMARY)]) {
          const before = messages();
          const compactor = createCompactor({ model, trigger: { messages: 2 } });
          const outcome = await compactor.compact(before, { reason, logLocation: 'sessions/s1.log.jsonl' });
          expect(outcome.status).toBe('applied');
          assertAccounted(before, outcome);
          expect(outcome.manifest.map(({ fate }) => fate)).toEqual(Array(4).fill('dropped'));
          const said = outcome.messages.filter(({ role }) => role !== 'system');
          expect(said).toMatchObject([{ role: 'user', kind: 'synthetic' }]);
          expect(said.map(textOf).join()).toMatch(
            /^\[4 earlier messages were removed .*sessions\/s1\.log\.jsonl/,
          );
        }
      },
    );
  }

  it('is mended though the note is longer: no provider takes a result without its call', async () => {
    const messages = [toolResultMessage(call('a'), 'ok')];
    const outcome = await createCompactor().compact(messages);
    expect(outcome.status).toBe('applied');
    assertAccounted(messages, outcome);
    expect(outcome.messages).toMatchObject([{ role: 'user', kind: 'synthetic' }]);
  });

  it('goes on with what is said next, in order, and the log has what went', async () => {
    const before = results();
    const scope = scopeOf(before);
    expect((await compaction({ model: null }).compact?.(scope, {}))?.status).toBe('applied');
    scope.state.contextMutable().push(userMessage('Go on.'), assistantMessage('Gladly.'));
    expect(scope.state.context.map(({ role }) => role)).toEqual(['user', 'user', 'assistant']);
    assertPaired(scope.state.context);
    expect(scope.log.messages).toEqual(before);
  });

  it('is not emptied by a stage of one’s own either', async () => {
    const emptying: Stage = {
      name: 'emptying',
      cost: 'free',
      reduce: async ({ messages }) => ({
        messages: messages.filter(({ role }) => role === 'system'),
        fates: messages.flatMap(({ id, role }) =>
          role === 'system' ? [] : [{ messageId: id, fate: 'dropped' as const }],
        ),
      }),
    };
    for (const messages of [
      [assistantMessage(lines(900))],
      [systemMessage('Be careful.'), assistantMessage(lines(900))],
    ]) {
      const outcome = await createCompactor({ stages: [emptying] }).compact(messages);
      expect(outcome).toMatchObject({
        status: 'failed',
        message: expect.stringContaining('the whole conversation was removed'),
      });
      expect(outcome.messages).toBe(messages);
    }
  });
});
