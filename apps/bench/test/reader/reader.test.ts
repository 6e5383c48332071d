import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { holdsNuggets, normalized, readQuestions } from '../../src/reader/questions.js';
import { benchReader } from '../../src/reader.js';

let folder: string;
let printed: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'x-reader-'));
  for (const name of ['recordings', 'questions']) mkdirSync(join(folder, name));
  printed = [];
  vi.spyOn(console, 'log').mockImplementation((text: string) => void printed.push(text));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

const results = Array.from({ length: 100 }, (_, index) => [
  {
    role: 'assistant',
    content: '',
    toolCalls: [{ id: `c${index}`, name: 'price', arguments: { of: `thing${index}` } }],
  },
  {
    role: 'tool',
    content: `${'Nothing else. '.repeat(150)}\nThe red thing${index} costs ${index}77 crowns.`,
    toolCallId: `c${index}`,
    toolName: 'price',
  },
]).flat();

function writeAll(): void {
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'What does each thing cost?' },
    ...results,
  ];
  writeFileSync(join(folder, 'recordings', 'shop__1.json'), JSON.stringify({ messages }));
  const question = (id: string, text: string, nuggets: string[]) => ({
    id,
    kind: 'fact',
    question: text,
    nuggets,
  });
  const questions = [
    question('q1', 'What does the red thing3 cost?', ['thing3 costs', '377 crowns']),
    question('q2', 'Who won?', ['nobody knows']),
  ];
  writeFileSync(join(folder, 'questions', 'shop__1.json'), JSON.stringify({ questions }));
}

describe('holdsNuggets', () => {
  it.each([
    ['One  TWO\nthree', ['one two', 'three'], true],
    [`one ${'x'.repeat(700)} two`, ['one', 'two'], false],
    [`one ${'x'.repeat(700)} one two`, ['one', 'two'], true],
    ['one', ['one', 'two'], false],
  ])('%s', (view, nuggets, held) => {
    expect(holdsNuggets(normalized(view), nuggets)).toBe(held);
  });
});

describe('the reader', () => {
  const run = (more = {}) =>
    benchReader({ recordings: join(folder, 'recordings'), questions: join(folder, 'questions'), ...more });

  it('counts what views hold, and what recall adds, by policy', async () => {
    writeAll();
    await run();
    const [head = '', all = ''] = printed.join('\n').split('\n');
    const shares = Object.fromEntries(
      head
        .trim()
        .split(/\s{2,}/)
        .slice(1)
        .map((policy, index) => [policy, all.trim().split(/\s{2,}/)[index + 1]]),
    );
    expect(shares).toMatchObject({
      full: '0.500',
      tail20: '0.000',
      'record+recall': '0.500',
      'record-now+recall': '0.500',
    });
  });

  it('writes the views, and asks a summarizer by file', async () => {
    writeAll();
    const out = join(folder, 'out');
    mkdirSync(out);
    writeFileSync(join(out, 'peer-prompt.txt'), 'Summarize: {messages}');
    await run({ out });
    expect(readFileSync(join(out, 'shop__1.full.txt'), 'utf8')).toContain(
      '=== user\nWhat does each thing cost?',
    );
    expect(readFileSync(join(out, 'shop__1.peer.prompt-1.txt'), 'utf8')).toContain('Summarize: === user');
    expect(existsSync(join(out, 'shop__1.peer.txt'))).toBe(false);
    writeFileSync(join(out, 'shop__1.peer.answer-1.txt'), 'All red things cost too much.');
    await run({ out });
    expect(readFileSync(join(out, 'shop__1.peer.txt'), 'utf8')).toContain('All red things cost too much.');
    expect(readdirSync(out).filter((file) => file.includes('.llm.prompt'))).toHaveLength(1);
  });

  it('is left out without its folders, and refuses questions of another form', async () => {
    await benchReader({});
    expect(printed.join()).toMatch(/--recordings DIR and --questions DIR/);
    writeFileSync(join(folder, 'questions', 'a.json'), '{"questions": [{"id": "q"}]}');
    expect(() => readQuestions(join(folder, 'questions'))).toThrow(/a\.json[\s\S]*nuggets/);
  });
});
