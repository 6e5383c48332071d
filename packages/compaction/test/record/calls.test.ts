import { type ToolResultBlock, type ToolUseBlock, toolResultsOf, toolUsesOf } from '@x/core';
import { atOnce } from '@x/core/internal';
import { toolResultBlock } from '@x/core/messages';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boilerplateOf } from '../../src/record/boilerplate.js';
import { ending, given } from '../../src/record/calls.js';
import { cutLine } from '../../src/record/cut-line.js';
import { argumentsText, type Call, endText } from '../../src/record/entry.js';
import { resultText } from '../../src/record/readable.js';
import { round } from '../build.js';

const call = (name: string, input: Record<string, unknown>) => ({ name, input: input as never });
const callLine = (use: ReturnType<typeof call>, length: number) =>
  argumentsText({ kind: 'did', at: 1, end: 'done', ...given(use, length) });
/** A call that runs a command. */
const MAKE: ToolUseBlock = { type: 'tool_use', id: 'c', name: 'execute', input: { command: 'make' } };
const outcomeText = (block: ToolResultBlock | undefined, text = block ? resultText(block) : '') =>
  endText({ ...ending(MAKE, block, text, 140), args: [] } as unknown as Call).slice(3);

describe('a call in one line', () => {
  it('has every argument, short ones whole', () => {
    const line = callLine(
      call('transfer_money', { to: 'DE89 3704', amount: 250.5, note: 'x'.repeat(400) }),
      90,
    );
    expect(line).toMatch(/^transfer_money to: DE89 3704, amount: 250\.5, note: x+…x+$/);
    expect(line.length).toBeLessThan(130);
  });

  it('shows of a changed text what changed', () => {
    const before = 'function total(items) {\n  return items.length;\n}';
    const after = 'function total(items) {\n  return sum(items);\n}';
    const line = callLine(call('edit', { path: 'a.ts', old_text: before, new_text: after }), 110);
    expect(line).toBe('edit a.ts, return −“items.length” +“sum(items)”');
  });

  it('shows of a change that does not fit the beginning of what is new, and no line that stayed', () => {
    const stays = ['export function total(items) {', '  const fees = items.map(feeOf);', '}'];
    const before = [...stays, '  return fees.length;', 'end of the file'].join('\n');
    const after = ['// Adds up.', ...stays, '  return sum(fees.map(rounded));', 'end of the file'].join('\n');
    const line = callLine(call('edit', { path: 'a.ts', old_text: before, new_text: after }), 110);
    expect(line).toBe('edit a.ts, +“// Adds up. … return sum(fees.map(rounded))”');
  });

  it('shows an argument of many rows as facts, the first and the last', () => {
    const rows = Array.from({ length: 5_000 }, (_, id) => ({ id, name: `name ${id}` }));
    const line = callLine(call('insert', { table: 'users', rows }), 90);
    expect(line).toMatch(/^insert table: users, rows: \(id 0, name name 0\) .*…name name 4999\)$/);
    expect(line.length).toBeLessThan(130);
  });

  it('keeps of a long command the end, which changes something', () => {
    const command = `node tools/check.mjs --all ${'--module coupon '.repeat(9)}&& echo 'Rule COUPON-628: limit 41' >> CHANGELOG.md`;
    expect(callLine(call('execute', { command }), 110)).toMatch(
      /^execute node .*….*limit 41' >> CHANGELOG\.md$/,
    );
  });

  it('shows of a command the command alone', () => {
    expect(callLine(call('bash', { command: 'npm test', timeout: 60_000 }), 80)).toBe('bash npm test');
  });
});

describe('a text on one line', () => {
  it('is never cut through a character, nor for the sake of a few', () => {
    const text = fc
      .array(fc.constantFrom('🦊', 'a', ' ', '字', 'word', 'src/a.ts', '\n'))
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, fc.double({ min: 1, max: 60, noNaN: true }), (text, length) => {
        const line = cutLine(text, length);
        expect(() => encodeURIComponent(line)).not.toThrow();
        expect(line.length).toBeLessThanOrEqual(Math.max(1, length + 8));
      }),
      { examples: [['🦊'.repeat(40), 3.1]] },
    );
    expect(cutLine('PASS modules/m27 (60 s)', 20)).toBe('PASS modules/m27 (60 s)');
    expect(cutLine('PASS modules/m27 of 40 (60 s)', 20)).toMatch(/^PASS.*….*s\)$/);
  });
});

describe('an editor whose argument is called command', () => {
  it.each(['create', 'str_replace', 'view'])('names the file: %s', (command) => {
    const line = callLine(call('str_replace_based_edit_tool', { command, path: 'src/login.ts' }), 110);
    expect(line).toBe(`str_replace_based_edit_tool src/login.ts, command: ${command}`);
  });
});

describe('how a call ended', () => {
  const result = (text: string, isError = false) => toolResultBlock({ id: '1', name: 'book' }, text, isError);

  it.each([
    [result('order 4711 booked'), '“order 4711 booked”'],
    [
      result('Exit code: 2\nTypeError: x is not a function'),
      'failed with exit 2: “…TypeError: x is not a function”',
    ],
    [result('card declined', true), 'failed: “card declined”'],
    [result('{"content":[{"text":"Error: gone"}]}', true), 'failed: “content: (text Error: gone)”'],
    [result('line\n'.repeat(200)), ''],
    [result(''), ''],
    [undefined, 'no result'],
  ])('%#', (block, text) => expect(outcomeText(block)).toBe(text));

  it('leaves out what every result of a tool repeats', () => {
    const results = Array.from({ length: 6 }, (_, index) =>
      result(`Chunk ID: a${index}4c\nWall time: 0.${index}2 seconds\nOutput:\nvalue ${'abc'[index % 3]}`),
    );
    const boilerplate = atOnce(boilerplateOf(results.map((block) => ({ block }))));
    expect(
      outcomeText(
        results[1],
        boilerplate.strip(results[1] as ToolResultBlock, resultText(results[1] as ToolResultBlock)),
      ),
    ).toBe('“value b”');
  });

  it('says nothing of a call that answered with such lines alone', () => {
    const results = ['value a', 'value b', '', 'value c', 'value d', 'value e'].map((text, index) =>
      result(`Chunk ID: a${index}4c\nWall time: 0.${index}2 seconds\nOutput:\n${text}`),
    );
    const boilerplate = atOnce(boilerplateOf(results.map((block) => ({ block }))));
    expect(
      outcomeText(
        results[2],
        boilerplate.strip(results[2] as ToolResultBlock, resultText(results[2] as ToolResultBlock)),
      ),
    ).toBe('');
  });

  it('keeps what differs where every answer is such a line', () => {
    const results = [3, 50, 7, 12].map((amount) => result(`Balance: ${amount}`));
    const boilerplate = atOnce(boilerplateOf(results.map((block) => ({ block }))));
    expect(results.map((block) => boilerplate.strip(block, resultText(block)))).toEqual([
      'Balance: 3',
      'Balance: 50',
      'Balance: 7',
      'Balance: 12',
    ]);
    const saved = Array.from({ length: 4 }, () => result('Saved.'));
    const [first] = saved as [ToolResultBlock];
    expect(atOnce(boilerplateOf(saved.map((block) => ({ block })))).strip(first, resultText(first))).toBe('');
  });

  it('leaves out what repeats the arguments of each call', () => {
    const calls = ['sum of fees', 'card limit', 'refund day', 'zip code', 'open hours'].map((query) => {
      const [call, result] = round({
        name: 'find',
        input: { query },
        output: `Searching for ${query} in all files.\nQuery: ${query}\n${query.length} matches`,
      });
      return { use: toolUsesOf(call)[0] as ToolUseBlock, block: toolResultsOf(result)[0] as ToolResultBlock };
    });
    const { block } = calls[2] as (typeof calls)[0];
    expect(atOnce(boilerplateOf(calls)).strip(block, resultText(block))).toBe('10 matches');
  });
});
