import { type Message, textOf, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import {
  type CompactionConfig,
  compaction,
  createCompactor,
  createRecall,
  RECALL_HINT,
} from '../src/index.js';
import { at, lines, rounds } from './build.js';
import { scopeOf } from './scope.js';

const masking = {
  stages: ['mask_outputs', 'drop_oldest'],
  contextWindow: 4_000,
} satisfies CompactionConfig;
const messages = [userMessage('go'), ...rounds(12, () => ({ output: lines(60) }))];
const stubsIn = (list: readonly Message[]) =>
  list
    .filter(({ role }) => role === 'tool')
    .map((message) => textOf(message))
    .filter((text) => text.startsWith('['));

describe('a stub', () => {
  it('names the message by which the log holds the original, where there is no recall', async () => {
    const scope = scopeOf(messages);
    await compaction({ ...masking, recall: false }).compact?.(scope, {});
    const stub = at(scope.state.context, 2);
    const [, id = ''] = /log message ([\w-]+)/.exec(textOf(stub)) ?? [];
    expect(textOf(stub)).not.toContain('line 30');
    expect(await scope.log.get(id)).toEqual(messages[2]);
  });

  it('names the number by which recall has the original, where recall is installed', async () => {
    const capability = compaction(masking);
    const scope = scopeOf(messages, { tools: (capability.tools ?? []).map(({ definition }) => definition) });
    await capability.compact?.(scope, {});
    const stub = textOf(at(scope.state.context, 2));
    expect(stub).toMatch(/; full text: recall r3\]$/);
    const [answer] = (await capability.tools?.[0]?.run({ ref: 'r3' }, scope as never)) ?? [];
    expect(answer).toMatchObject({ text: `[r3, result of read_file]\n${lines(60)}` });
  });

  it('names no place where there is none: no log, no recall', async () => {
    const { messages: left } = await createCompactor({ ...masking, model: null }).compact(messages);
    expect(stubsIn(left).length).toBeGreaterThan(3);
    for (const stub of stubsIn(left)) expect(stub).toMatch(/→ ok, 60 lines, \d+ bytes\]$/);
    const whole = JSON.stringify((await createCompactor({ model: null }).compact(messages)).messages);
    expect(whole).not.toMatch(/log message|full text|recall/);
  });

  it('and a summary name the recall of a standalone compactor', async () => {
    const recall = createRecall(messages);
    const masked = await createCompactor({ ...masking, model: null }).compact(messages, {
      recall: RECALL_HINT,
    });
    for (const stub of stubsIn(masked.messages)) {
      const [, ref = ''] = /full text: recall (r\d+)\]$/.exec(stub) ?? [];
      expect(textOf(await recall.answer({ ref }))).toContain('line 59');
    }
    const { messages: left } = await createCompactor({ model: null, keep: { messages: 2 } }).compact(
      messages,
      {
        recall: RECALL_HINT,
      },
    );
    expect(left.map((message) => textOf(message)).join('\n')).toContain(RECALL_HINT);
  });
});
