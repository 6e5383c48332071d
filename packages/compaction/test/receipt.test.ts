import { assistantMessage, type Message, toolResultMessage, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { compaction, createCompactor, whatIsGone } from '../src/index.js';
import { lines, round, rounds } from './build.js';
import { modelOf } from './models.js';
import { scopeOf } from './scope.js';

describe('what is gone', () => {
  const call = { name: 'bash', input: { command: 'npm test' } };
  const messages = [
    userMessage('Fix the parser, but keep the name parseLine.'),
    ...round({ ...call, output: 'Error: 2 tests failed\nexit code 1', isError: true }),
    ...round({ name: 'write_file', input: { path: 'src/parse.ts', content: 'x' } }),
    ...round({ name: 'bash', input: { command: 'npm run lint' }, output: 'Error: unused', isError: true }),
    ...round({ name: 'bash', input: { command: 'npm run lint' }, output: 'clean' }),
    {
      ...userMessage('x'),
      role: 'assistant',
      content: [{ type: 'text', text: 'I keep the recursive parser.' }],
    },
    userMessage('Now the tests.'),
    ...rounds(40, () => ({ output: lines(40) })),
  ] as Message[];

  const filler = () => rounds(60, () => ({ output: lines(40) }));
  const receiptOf = async (before: readonly Message[], options = {}) => {
    const compactor = createCompactor({ contextWindow: 8_000, model: null, keep: { users: 0 }, ...options });
    return whatIsGone({ before, outcome: await compactor.compact(before) });
  };

  it('names requests, open errors, conclusions and changed files with their numbers, and says what is left', async () => {
    const outcome = await createCompactor({ contextWindow: 8_000, keep: { users: 0 } }).compact(messages);
    const receipt = await whatIsGone({ before: messages, outcome });
    expect(receipt.items.map(({ kind, at: number, text }) => [kind, number, text])).toEqual([
      ['request', 1, 'Fix the parser, but keep the name parseLine.'],
      ['error', 2, 'bash npm test: Error: 2 tests failed'],
      ['decision', 10, 'I keep the recursive parser.'],
      ['file', 4, 'src/parse.ts (write_file)'],
    ]);
    expect(receipt.items.every(({ left }) => left === 'record')).toBe(true);
    expect(receipt.gone + receipt.seen).toBe(messages.length);
    expect(receipt.markdown).toContain('- r2 bash npm test: Error: 2 tests failed (quoted in the record)');
  });

  it('cuts long errors and conclusions between words, and marks the cut', async () => {
    const before = [
      userMessage('Go.'),
      ...round({ ...call, output: `Error: ${'unexpected '.repeat(50)}`, isError: true }),
      assistantMessage('concluded '.repeat(50)),
      userMessage('And now?'),
      ...filler(),
    ];
    const { items } = await receiptOf(before);
    const [, error, decision] = items.map(({ text }) => text);
    expect(error).toMatch(/^bash npm test: Error: (?:unexpected )+unexpected…$/);
    expect(decision).toMatch(/^(?:concluded )+concluded…$/);
  });

  it('of a session stands in the events, too', async () => {
    const scope = scopeOf(messages, { model: modelOf(() => 'unused', { contextWindow: 16_000 }) });
    const capability = compaction({ model: null });
    await capability.compact?.(scope, {});
    scope.state.contextMutable().push(...rounds(40, () => ({ output: lines(40) })));
    await capability.compact?.(scope, {});
    const receipt = await capability.explain?.(scope);
    expect(receipt).toMatchObject({ cost: { modelCalls: 0 }, all: messages.length + 80 });
    const events = scope.events.filter(({ type }) => type === 'context.compacted');
    expect(events[0]).toMatchObject({
      gone: expect.arrayContaining([expect.objectContaining({ kind: 'error', at: 2 })]),
    });
  });

  it('lists what is gone however much of the same kind is still seen, and counts the rest', async () => {
    const asked = Array.from({ length: 30 }, (_, index) => [
      userMessage(`Wish ${index}`),
      assistantMessage(lines(20, `answer ${index}`)),
    ]).flat();
    const all = [...filler(), ...asked];
    const kept = createCompactor({ contextWindow: 64_000, model: null, keep: { messages: 20, users: 0 } });
    const receipt = await whatIsGone({ before: all, outcome: await kept.compact(all) });
    const requests = receipt.items.filter(({ kind }) => kind === 'request');
    expect(requests).toHaveLength(10);
    expect(receipt.found.request).toBeGreaterThan(10);
    expect(receipt.markdown).toContain(`- ${(receipt.found.request ?? 0) - 10} older ones`);
    for (const { messageId } of receipt.items)
      expect(all.findIndex(({ id }) => id === messageId)).toBeLessThan(all.length - 20);
  });

  it('names the files that calls worked on, and no folder in which a command ran', async () => {
    const receipt = await receiptOf([
      userMessage('Go.'),
      ...round({
        name: 'shell',
        input: { command: 'npm test', directory: 'packages/a' },
        output: 'exit code 1',
      }),
      ...round({ name: 'shell', input: { command: 'ls', directory: 'packages/a' }, output: 'src' }),
      ...round({ name: 'write_many', input: { paths: ['a.ts', 'b.ts'], content: 'x' } }),
      ...round({ name: 'read_file', input: { path: 'c.ts' } }),
      ...filler(),
    ]);
    const texts = (kind: string) =>
      receipt.items.filter((item) => item.kind === kind).map(({ text }) => text);
    expect(texts('file')).toEqual(['b.ts (write_many)', 'a.ts (write_many)']);
    expect(texts('error')).toEqual([expect.stringContaining('shell npm test')]);
  });

  it('pairs results with the call before them, although ids come again', async () => {
    const again = (name: string, output: string, isError: boolean) => {
      const use = { type: 'tool_use', id: 'call_0', name, input: { command: name } } as const;
      return [assistantMessage([use]), toolResultMessage(use, output, { isError })];
    };
    const before = [
      userMessage('Go.'),
      ...again('npm-test', '2 failed', true),
      userMessage('On.'),
      ...again('lint', 'clean', false),
      ...filler(),
    ];
    const scope = scopeOf(before, { model: modelOf(() => '', { contextWindow: 16_000 }) });
    await scope.log.append(before);
    scope.state.contextMutable().length = 0;
    const receipt = await compaction({}).explain?.(scope);
    expect(receipt?.items.filter(({ kind }) => kind === 'error')).toEqual([
      expect.objectContaining({ at: 2, left: 'log' }),
    ]);
  });

  it('takes a message whose keys a database sorted for the same, and redacts what it quotes', async () => {
    const secret = 'sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ';
    const before = [userMessage(`Use the key ${secret}`), ...messages];
    const scope = scopeOf(before, { model: modelOf(() => '', { contextWindow: 16_000 }) });
    const sorted = (value: unknown): unknown =>
      Array.isArray(value)
        ? value.map(sorted)
        : typeof value === 'object' && value !== null
          ? Object.fromEntries(
              Object.entries(value)
                .toSorted()
                .map(([key, inner]) => [key, sorted(inner)]),
            )
          : value;
    await scope.log.append(sorted(before) as Message[]);
    expect(await whatIsGone(scope)).toMatchObject({ gone: 0, items: [] });
    const capability = compaction({ model: null });
    await capability.compact?.(scope, {});
    expect(JSON.stringify([await capability.explain?.(scope), scope.events])).not.toContain(secret);
  });

  it('counts nothing as quoted in a record that its reader is not sent, and names no log that there is none', async () => {
    const native = modelOf(() => '', {
      compact: async () => ({ content: [{ type: 'opaque', provider: 'acme', data: 'sealed', tokens: 20 }] }),
    });
    const receipt = await receiptOf(messages, { model: native, stages: ['native'] });
    expect(receipt.items.length).toBeGreaterThan(0);
    expect(receipt.items.filter(({ left }) => left === 'record')).toEqual([]);
    expect(receipt.markdown).not.toMatch(/log has|recall/);
  });

  it('finds an error in the record that stands on the line of the same call', async () => {
    const failing = { ...call, output: 'Error: 2 tests failed\nexit code 1', isError: true };
    const receipt = await receiptOf([
      userMessage('Go.'),
      ...Array.from({ length: 3 }, () => round(failing)).flat(),
      ...filler(),
    ]);
    expect(receipt.items.find(({ kind }) => kind === 'error')).toMatchObject({ at: 6, left: 'record' });
  });
});
