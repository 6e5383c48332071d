import { AgentState, type JsonObject, type Message, type SessionLog, userMessage } from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CompactionCapabilitySettings } from '../../src/capability/capability-config.js';
import { compaction, undoCompaction } from '../../src/index.js';
import { maskOutputs } from '../../src/stages/mask-outputs.js';
import { conversation } from '../arbitraries.js';
import { lines, rounds } from '../build.js';
import { GOOD_SUMMARY, modelOf } from '../models.js';
import { scopeOf, type TestScope } from '../scope.js';

/** The same session in another process: nothing but what was stored is left. */
function restarted(scope: TestScope): TestScope {
  const state = AgentState.fromJSON(JSON.parse(JSON.stringify(scope.state)));
  const stored = JSON.parse(JSON.stringify(scope.log.messages)) as Message[];
  scope.log.messages.splice(0, Number.POSITIVE_INFINITY, ...stored);
  return { ...scope, state };
}

const closed = (messages: readonly Message[]) =>
  messages.filter(
    ({ content }) => !content.some((block) => block.type === 'tool_use' && block.id.startsWith('open')),
  );
const long = () => [userMessage('fix the login'), ...rounds(30, () => ({ output: lines(40) }))];
const free = { model: null, trigger: { messages: 30 } } as const;

describe('undoCompaction', { timeout: 60_000 }, () => {
  it('refuses a scope without a state or a log', async () => {
    await expect(undoCompaction({} as never)).rejects.toThrow('must be { state, log }');
  });

  it('restores the very list from before each compaction of a chain, also after a restart', async () => {
    const stages = fc.constantFrom<CompactionCapabilitySettings['stages']>(
      undefined,
      ['summarize', 'drop_oldest'],
      [maskOutputs({ keepRecentToolOutputs: 1 }), 'drop_oldest'],
    );
    const link = fc.record({ part: conversation, later: conversation, undone: fc.boolean(), stages });
    let undos = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(link, { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        async (links, written) => {
          let scope = scopeOf([]);
          for (const { part, later, undone, stages: used } of links) {
            const capability = compaction({
              ...(used ? { stages: used } : {}),
              contextWindow: 12_000,
              keep: { messages: 3 },
              trigger: { messages: 10 },
              model: written ? modelOf(() => GOOD_SUMMARY) : null,
            });
            scope.state.contextMutable().push(...closed(part));
            const before = structuredClone(scope.state.context);
            const outcome = await capability.compact?.(scope, {});
            if (outcome?.status !== 'applied') continue;
            scope.state.contextMutable().push(...closed(later));
            const after = structuredClone(scope.state.context);

            const again = restarted(scope);
            expect(await undoCompaction(again)).toBe(true);
            expect(again.state.context).toEqual([...before, ...closed(later)]);
            expect(scope.state.context).toEqual(after);
            undos++;
            scope = undone ? again : restarted(scope);
          }
        },
      ),
      { numRuns: 30 },
    );
    expect(undos).toBeGreaterThan(25);
  });

  it('is not done again at once, also after a restart, but by hand, or when the request has grown', async () => {
    const capability = compaction(free);
    const step = (scope: TestScope) =>
      capability.aroundReason?.(scope, async () => ({ content: [], finishReason: 'stop' }));
    const scope = scopeOf(long());
    const before = [...scope.state.context];
    await step(scope);
    expect(scope.state.context.length).toBeLessThan(before.length);
    expect(await capability.undo?.(scope)).toBe(true);

    const again = restarted(scope);
    await step(again);
    expect(again.state.context).toEqual(before);
    const byHand = restarted(scope);
    expect((await capability.compact?.(byHand, {}))?.status).toBe('applied');
    again.state.contextMutable().push(...rounds(4, () => ({ output: lines(40) })));
    await step(again);
    expect(again.state.context.length).toBeLessThan(before.length);
  });

  it('has nothing to undo without a compaction, nor after the list was rewritten by somebody else', async () => {
    const scope = scopeOf(long());
    expect(await undoCompaction(scope)).toBe(false);
    await compaction(free).compact?.(scope, {});
    scope.state.contextMutable().shift();
    const before = [...scope.state.context];
    expect(await undoCompaction(scope)).toBe(false);
    expect(scope.state.context).toEqual(before);
  });

  it('ignores stored notes and pins that are invalid, and compacts as without them', async () => {
    const part = fc.oneof(
      fc.jsonValue(),
      fc.constant([null]),
      fc.constant([{ before: [{ run: [-1, 0, 1e9] }], length: 0, digest: '', minor: false }]),
      fc.constant([{ before: 'x', length: -1, digest: 7 }]),
    );
    await fc.assert(
      fc.asyncProperty(part, part, async (undo, pins) => {
        const scope = scopeOf(long());
        scope.state.extensions.compaction = { undo, pins } as JsonObject;
        const capability = compaction(free);
        expect(await capability.undo?.(scope)).toBe(false);
        expect((await capability.compact?.(scope, {}))?.status).toBe('applied');
        expect(await capability.undo?.(scope)).toBe(true);
        expect(scope.state.context.map(({ id }) => id)).toHaveLength(long().length);
      }),
      { numRuns: 30 },
    );
  });

  it('changes nothing when the log lacks a message, or cannot be read', async () => {
    const scope = scopeOf(long());
    await compaction(free).compact?.(scope, {});
    const after = [...scope.state.context];
    const [missing] = scope.log.messages.splice(5, 1);
    expect(await undoCompaction(scope)).toBe(false);
    expect(scope.state.context).toEqual(after);
    const broken: SessionLog = {
      ...scope.log,
      get: () => Promise.reject(new Error('disk')),
      // biome-ignore lint/correctness/useYield: it fails before it has anything.
      async *read() {
        throw new Error('disk');
      },
    };
    await expect(undoCompaction({ state: scope.state, log: broken })).rejects.toThrow('disk');
    expect(scope.state.context).toEqual(after);
    scope.log.messages.push(missing as Message);
    expect(await undoCompaction(scope)).toBe(true);
  });

  it('restores what others had altered or the log never held', async () => {
    const scope = scopeOf(long());
    const context = scope.state.contextMutable();
    await scope.log.append([context[3] as Message]);
    context[3] = { ...(context[3] as Message), content: [{ type: 'text', text: 'evicted' }] };
    const before = structuredClone(context);
    await compaction({ ...free, offloadBeforeCompact: false }).compact?.(scope, {});
    expect(scope.log.messages).toHaveLength(1);
    expect(context.length).toBeLessThan(before.length);
    const again = restarted(scope);
    expect(await undoCompaction(again)).toBe(true);
    expect(again.state.context).toEqual(before);
  });

  it('leaves a note that does not grow with what was taken out', async () => {
    const size = async (count: number) => {
      const messages = [userMessage('go'), ...rounds(count, () => ({ output: lines(40) }))];
      const scope = scopeOf(messages);
      const before = [...scope.state.context];
      await compaction({ ...free, contextWindow: 2_000_000 }).compact?.(scope, {});
      expect(scope.state.context.length).toBeLessThan(30);
      const note = JSON.stringify(scope.state.extensions.compaction?.undo).length;
      expect(await undoCompaction(scope)).toBe(true);
      expect(scope.state.context).toEqual(before);
      return note;
    };
    expect(await size(400)).toBeLessThanOrEqual((await size(40)) + 20);
  });

  it('gives up the note, not the compaction, where what was altered would make it huge', async () => {
    const scope = scopeOf(long());
    const context = scope.state.contextMutable();
    await scope.log.append(context);
    for (const [index, message] of context.entries()) {
      context[index] = { ...message, metadata: { ...message.metadata, note: 'x'.repeat(10_000) } };
    }
    expect((await compaction(free).compact?.(scope, {}))?.status).toBe('applied');
    expect(JSON.stringify(scope.state.extensions).length).toBeLessThan(1_000);
    expect(await undoCompaction(scope)).toBe(false);
  });

  it('keeps no copy of what the log holds, and nothing of a compaction that could not be stored', async () => {
    const scope = scopeOf(long());
    await compaction(free).compact?.(scope, {});
    expect(JSON.stringify(scope.state.extensions)).not.toContain('line 39');

    const failing = scopeOf(long(), { checkpoint: () => Promise.reject(new Error('conflict')) });
    await expect(compaction(free).compact?.(failing, {})).rejects.toThrow('conflict');
    expect(failing.state.extensions).toEqual({});
  });
});
