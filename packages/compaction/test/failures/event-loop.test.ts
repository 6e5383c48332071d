import { assistantMessage, type Message, type ToolResultBlock, userMessage, type Workspace } from '@x/core';
import { longestPiece } from '@x/test-support';
import { describe, expect, it } from 'vitest';
import { compaction, createRecall, toolResultEviction } from '../../src/index.js';
import { rounds } from '../build.js';
import { modelOf, said } from '../models.js';
import { scopeOf, toolScopeOf } from '../scope.js';

/**
 * The most of its CPU time that a work may take in one piece: a share, because a loaded machine makes every piece dearer. Work that
 * does not rest is one piece. An eviction is short beside the one copy of its text that it makes.
 */
const LONGEST_PIECE = 0.15;
const LONGEST_OF_REQUESTS = 0.08;
const LONGEST_OF_EVICTION = 0.4;

const speech = (index: number) =>
  `message ${index} ${'the quick brown fox jumps over the lazy dog '.repeat(34)}`;
const chat = (count: number): Message[] =>
  Array.from({ length: count }, (_, index) =>
    index % 2 ? assistantMessage(speech(index)) : userMessage(speech(index)),
  );
const requests = (count: number): Message[] =>
  Array.from({ length: count }, (_, index) => userMessage(`${speech(index)}\n`.repeat(4)));
const work = (count: number): Message[] => [
  userMessage('Fix the login.'),
  ...rounds(count, (index) => ({
    name: index % 3 ? 'read_file' : 'write_file',
    input: {
      path: `src/part${index % 90}/file${index}.ts`,
      ...(index % 3 ? {} : { content: speech(index) }),
    },
    output: `export const value${index} = compute(${index});\n`.repeat(20),
    say: `I look at file${index}.ts, because value${index} is wrong.`,
  })),
];

describe('the event loop', { timeout: 120_000 }, () => {
  it.each([
    ['8 000 messages of a chat', () => chat(8_000), LONGEST_PIECE],
    ['8 000 messages of work', () => work(4_000), LONGEST_PIECE],
    ['3 000 long requests', () => requests(3_000), LONGEST_OF_REQUESTS],
  ])('is never held for long by a compaction of %s', async (_, make, most) => {
    // Code that has not run yet is slow.
    await compaction({ model: null }).compact?.(scopeOf(make().slice(0, 600)), {});
    const messages = make();
    const model = modelOf(() => 'unused', { contextWindow: 400_000 });
    const scope = scopeOf(messages, { model });
    const capability = compaction({ model: null });
    const longest = await longestPiece(async () => {
      await capability.aroundReason?.(scope, async () => said('ok'));
      expect(await capability.compact?.(scope, {})).toMatchObject({ status: 'applied' });
    });
    expect(longest).toBeLessThan(most);
  });

  it('is never held for long by the writing of a narrative about 8 000 messages', async () => {
    const model = modelOf(() => 'No narrative.', { contextWindow: 400_000 });
    const compact = async (messages: readonly Message[]) =>
      compaction().compact?.(scopeOf(messages, { model }), {});
    await compact(chat(600));
    const messages = chat(8_000);
    const longest = await longestPiece(() => Promise.resolve(compact(messages)));
    expect(longest).toBeLessThan(LONGEST_PIECE);
  });

  it('is never held for long by the eviction of a result of 20 MB', async () => {
    const workspace = { write: async () => {} } as unknown as Workspace;
    const capability = toolResultEviction();
    const call = { type: 'tool_use', id: 'a', name: 'dump', input: {} } as const;
    const evict = (size: number) =>
      capability.aroundTool?.(
        call,
        toolScopeOf(workspace),
        async (): Promise<ToolResultBlock> => ({
          type: 'tool_result',
          toolUseId: 'a',
          toolName: 'dump',
          output: [{ type: 'text', text: 'row of a table, with words\n'.repeat(size / 27) }],
          isError: false,
        }),
      );
    await evict(2_000_000);
    expect(await longestPiece(async () => evict(20_000_000))).toBeLessThan(LONGEST_OF_EVICTION);
  });

  it.each([
    ['rows', 'row of a table, with words\n'],
    ['one line', 'words without end '],
  ])('is never held for long by a result of 20 MB in %s that is cut', async (_, unit) => {
    const cut = async (size: number) => {
      const output = Array.from({ length: size / unit.length }, (_, index) => `${index} ${unit}`).join('');
      const messages = [userMessage('Dump it.'), ...rounds(1, () => ({ name: 'dump', input: {}, output }))];
      const scope = scopeOf(messages, { model: modelOf(() => 'unused', { contextWindow: 32_000 }) });
      const capability = compaction({ model: null });
      return longestPiece(async () => void (await capability.aroundReason?.(scope, async () => said('ok'))));
    };
    await cut(2_000_000);
    expect(await cut(20_000_000)).toBeLessThan(LONGEST_PIECE);
  });

  it('is never held for long by a search in 8 000 messages', async () => {
    const recall = createRecall(chat(8_000));
    await createRecall(chat(600)).answer({ query: 'lazy fox 17' });
    const longest = await longestPiece(() =>
      recall.answer({ query: 'which message says 4711 of the lazy dog?' }),
    );
    expect(longest).toBeLessThan(LONGEST_PIECE);
  });
});
