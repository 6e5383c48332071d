import { assistantMessage, type Message, type ToolUseBlock } from '@x/core';
import { expect, it } from 'vitest';
import { compaction } from '../../src/index.js';
import { lines, rounds } from '../build.js';
import { scopeOf, toolScopeOf } from '../scope.js';

it('a step that is not due reads only what is new, however long the conversation is', async () => {
  let reads = 0;
  const watched = (message: Message): Message =>
    new Proxy(message, {
      get(target, key) {
        reads++;
        return Reflect.get(target, key);
      },
    });
  const scope = scopeOf(rounds(200, () => ({ output: lines(20) })).map(watched));
  const capability = compaction({ contextWindow: 10_000_000, model: null });
  const answer = async () => ({ content: [], finishReason: 'stop' as const });
  const call: ToolUseBlock = { type: 'tool_use', id: 'new', name: 'write_file', input: { path: 'a.ts' } };
  const step = async () => {
    reads = 0;
    scope.state.contextMutable().push(watched(assistantMessage('Next.')));
    await capability.aroundReason?.(scope, answer);
    await capability.authorize?.(call, toolScopeOf(scope.workspace, { state: scope.state }));
    return reads;
  };
  expect(await step(), 'the first step reads all').toBeGreaterThan(400);
  for (let at = 0; at < 5; at++) expect(await step()).toBeLessThan(40);
});
