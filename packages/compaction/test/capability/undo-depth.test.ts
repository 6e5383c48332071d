import { AgentState, assistantMessage, type Message, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { compaction, truncateArgs, undoCompaction } from '../../src/index.js';
import { lines, rounds } from '../build.js';
import { said } from '../models.js';
import { scopeOf, type TestScope } from '../scope.js';

/** The same session in another process: nothing but what was stored is left. */
function restarted(scope: TestScope): TestScope {
  const state = AgentState.fromJSON(JSON.parse(JSON.stringify(scope.state)));
  const stored = JSON.parse(JSON.stringify(scope.log.messages)) as Message[];
  scope.log.messages.splice(0, Number.POSITIVE_INFINITY, ...stored);
  return { ...scope, state };
}

const plain = (messages: readonly Message[]) => JSON.parse(JSON.stringify(messages)) as Message[];
const work = (count: number) => rounds(count, () => ({ output: lines(40) }));

describe('undo', () => {
  it('restores the list from before the summary, whatever an early stage altered since, in another process', async () => {
    const early = truncateArgs({ triggerMessages: 2, triggerTokens: 1, keepMessages: 0, maxArgLength: 100 });
    const capability = compaction({ model: null, stages: [early, 'summarize'], contextWindow: 200_000 });
    const scope = scopeOf([userMessage('fix the login'), ...work(30), assistantMessage('done')]);
    const before = plain(scope.state.context);
    expect((await capability.compact?.(scope, {}))?.status).toBe('applied');

    const large = rounds(1, () => ({ input: { path: 'a.ts', content: 'x'.repeat(60_000) } }));
    const later = [userMessage('go on'), ...large, assistantMessage('written')];
    scope.state.contextMutable().push(...later);
    await capability.aroundReason?.(scope, async () => said('ok'));
    expect(JSON.stringify(scope.state.context)).toContain('[truncated]');

    const again = restarted(scope);
    expect(await undoCompaction(again)).toBe(true);
    expect(plain(again.state.context)).toEqual([...before, ...plain(later)]);
    expect(await undoCompaction(again)).toBe(false);
  });

  it('goes several summaries deep, each in a process of its own', async () => {
    const capability = compaction({ model: null, contextWindow: 200_000 });
    let scope = scopeOf([userMessage('fix the login')]);
    const lists: Message[][] = [];
    for (let round = 0; round < 4; round++) {
      scope.state.contextMutable().push(...work(20), assistantMessage(`round ${round}`));
      lists.push(plain(scope.state.context));
      expect((await capability.compact?.(scope, {}))?.status).toBe('applied');
      scope = restarted(scope);
    }
    const added = userMessage('and now?');
    scope.state.contextMutable().push(added);
    let behind: Message[] = [added];
    for (const list of lists.toReversed()) {
      expect(await undoCompaction(scope)).toBe(true);
      expect(plain(scope.state.context)).toEqual(plain([...list, ...behind]));
      // What had been added between this compaction and the next stays where it was.
      const previous = lists[lists.indexOf(list) - 1];
      if (previous) behind = [...scope.state.context.slice(-41 - behind.length)];
      scope = restarted(scope);
    }
    expect(await undoCompaction(scope)).toBe(false);
  });
});
