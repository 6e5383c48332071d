import { type Message, textOf, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { createCompactor } from '../../src/index.js';
import { at, lines, round, rounds } from '../build.js';

const summaryOf = (messages: readonly Message[]) =>
  textOf(messages.find(({ kind }) => kind === 'summary') ?? []);
const names = ['edit_file', 'execute', 'apply_patch', 'delete_file', 'move_file', 'create_branch'];
/** Calls that change something; every tenth in the words of an earlier one. */
const edits = (from: number) =>
  rounds(60, (index) => {
    const at = from + index - (index % 10 === 9 ? 6 : 0);
    return { name: names[at % 6] ?? '', input: { path: `src/part${at}.ts`, content: lines(20) } };
  });

describe('calls of which only the number is told', () => {
  it('stand in their order, and are counted once over many summaries', async () => {
    const compactor = createCompactor({ contextWindow: 8_000 });
    let messages: readonly Message[] = [userMessage('Do it')];
    let made = 0;
    for (let link = 0; link < 5; link++) {
      messages = [...messages, ...edits(made)];
      made += 60;
      const outcome = await compactor.compact(messages);
      expect(outcome.status).toBe('applied');
      messages = outcome.messages;
    }
    const record = summaryOf(messages).split('\n');
    const numbers = record.flatMap((line) => (/^[»*-] r/.test(line) ? Number(/\d+/.exec(line)?.[0]) : []));
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
    const counted = record.filter((line) => / ×\d/.test(line));
    expect(counted).toHaveLength(1);
    const [, last] = /^\* r\d+–r(\d+): /.exec(at(counted, 0)) ?? [];
    const [next] = record.flatMap((line) => /^\* r(\d+) (?:\(.*\) )?\w+ src/.exec(line)?.[1] ?? []);
    expect(Number(last)).toBeGreaterThan(100);
    expect(Number(last)).toBeLessThan(Number(next));
    const count = [...at(counted, 0).matchAll(/×(\d+)/g)].reduce(
      (sum, [, digits]) => sum + Number(digits),
      0,
    );
    const told = record.flatMap((line) =>
      /^\* r\d+ (?:\(.*\) )?\w+ src/.test(line) ? (line.match(/\br\d+/g) ?? []) : [],
    );
    const staying = messages.filter(({ role }) => role === 'assistant').length;
    expect(count + told.length + staying).toBe(made);
  });

  it('are look-ups without an answer first, then what changed something', async () => {
    const calls = rounds(120, (index) =>
      index % 2 === 0
        ? { name: 'read_file', input: { path: `src/seen${index}.ts` }, output: lines(60) }
        : { name: 'edit_file', input: { path: `src/made${index}.ts`, content: lines(20) } },
    );
    const { messages } = await createCompactor({ contextWindow: 10_000 }).compact([
      userMessage('Do it'),
      ...calls,
    ]);
    const record = summaryOf(messages);
    const told = (word: string) => (record.match(new RegExp(`^[*·] r.*${word}\\d`, 'gm')) ?? []).length;
    expect(record).toMatch(/read_file ×\d/);
    expect(told('made')).toBeGreaterThan(2 * told('seen') + 10);
  });

  it('take no whole path with them: the first line that is left has it', async () => {
    const compactor = createCompactor({ contextWindow: 8_000 });
    let messages: readonly Message[] = [userMessage('Do it')];
    const edit = (path: string) => round({ name: 'edit_file', input: { path, content: lines(20) } });
    for (let link = 0; link < 4; link++) {
      const files = Array.from({ length: 40 }, (_, at) => edit(`packages/p${link}/src/part${at}.ts`)).flat();
      messages = [
        ...messages,
        ...edit('packages/a/src/index.ts'),
        ...files,
        ...edit('packages/b/src/index.ts'),
      ];
      const outcome = await compactor.compact(messages);
      expect(outcome.status).toBe('applied');
      messages = outcome.messages;
      const record = summaryOf(messages);
      if (link === 3) expect(record).toMatch(/ ×\d/);
      // Whoever reads `index.ts` knows which one: a line in front of it says so, if only its end where room is short.
      const [short] = record.split(/(?<![\w/…])index\.ts/);
      expect(short).toContain('a/src/index.ts');
      expect(record).not.toMatch(/ \/[ab]\/src/);
    }
  });

  it('leave the whole path to the first line that is left of that file', async () => {
    const touch = (path: string, mode: number) => round({ name: 'touch', input: { path, mode } });
    const files = Array.from({ length: 300 }, (_, at) => touch(`src/lib/f${at}.ts`, at)).flat();
    const messages = [
      userMessage('Do it'),
      ...touch('src/app/index.ts', 1),
      ...files,
      ...touch('src/app/index.ts', 2),
    ];
    const { messages: view } = await createCompactor({ contextWindow: 8_000, keep: { messages: 1 } }).compact(
      [...messages, ...touch('src/lib/last.ts', 9)],
    );
    const record = summaryOf(view);
    expect(record).toMatch(/touch ×\d+/);
    expect(record).toMatch(/^\* r\d+ touch src\/app\/index\.ts/m);
  });

  it('are those that went well: a failure keeps its line', async () => {
    const compactor = createCompactor({ contextWindow: 8_000 });
    const failing = round({
      name: 'deploy',
      input: { path: 'site' },
      output: 'Error: no such host',
      isError: true,
    });
    const { messages } = await compactor.compact([
      userMessage('Do it'),
      ...failing,
      ...edits(0),
      ...edits(60),
      ...edits(120),
    ]);
    const record = summaryOf(messages);
    expect(record).toMatch(/ ×\d/);
    expect(record).toMatch(/^\* r2 deploy .*→ failed: “Error: no/m);
  });
});
