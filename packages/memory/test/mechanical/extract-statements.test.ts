import { assistantMessage, userMessage } from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { extractStatements } from '../../src/mechanical/extract-statements.js';

const found = (text: string) => extractStatements([userMessage(text)], 20);

describe('what a user states', () => {
  it.each([
    ['I prefer tabs over spaces', 'Preference'],
    ['Please always answer in German.', 'Preference'],
    ['Call me Ada', 'Preference'],
    ["Let's use PostgreSQL for the sessions.", 'Decision'],
    ['We decided against Kubernetes because of its cost', 'Decision'],
    ['My name is Ada Lovelace.', 'Fact'],
    ['We use pnpm 10 in all repositories', 'Fact'],
    ['Mein Hund ist 7 Jahre alt', 'Fact'],
    ['The staging server runs at 10.0.0.7', 'Fact'],
    ['Remember that the release is on 2026-12-01', 'Fact'],
    ['Ich bevorzuge kurze Antworten.', 'Preference'],
    ['Je préfère les réponses courtes.', 'Preference'],
    ['我喜欢简短的回答。', 'Preference'],
    ['私の名前はさくらです。', 'Fact'],
    ['Сервер базы данных называется orion-42', 'Fact'],
  ])('%s', (text, kind) => {
    expect(found(text)).toEqual([`${kind} (as stated): ${text}`]);
  });

  it.each([
    'Hello!',
    'thanks a lot',
    'Do you prefer tabs?',
    'Fix the failing test in src/a.ts',
    '对吗？',
    'ok, go on',
    'Can you look at src/a.ts',
    'I want you to add 3 tests',
    'Bitte erklären',
  ])('not: %s', (text) => {
    expect(found(text)).toEqual([]);
  });
});

it('takes of the model only what it settled', () => {
  const said = assistantMessage(
    'The file has 40 lines. It turns out the cause is the cache of build 7. I prefer tea.',
  );
  expect(extractStatements([said], 20)).toEqual([
    'Decision (as stated): It turns out the cause is the cache of build 7.',
  ]);
});

it('keeps the important when there is much, in the order in which it was said, each once', () => {
  const facts = Array.from({ length: 30 }, (_, index) => `Host ${index} has port ${index}.`);
  const text = [...facts, 'I prefer tabs.', ...facts, 'I prefer tabs.'].join('\n');
  const kept = extractStatements([userMessage(text)], 5);
  expect(kept).toHaveLength(5);
  expect(kept.at(-1)).toBe('Preference (as stated): I prefer tabs.');
});

it('bears any text: lines, no control characters, no marks, within bounds', () => {
  const said = fc.constantFrom(
    '\nI prefer tabs over ',
    '\nWe decided to use Redis ',
    'my name is ',
    '. ',
    '\n',
    '\r',
    '<!-- ',
    '\u0007',
  );
  const long = fc.string({ unit: 'binary', minLength: 10, maxLength: 40 }).map((text) => text.repeat(20));
  const text = fc.array(fc.oneof(said, fc.string({ unit: 'binary', maxLength: 20 }), long), {
    maxLength: 12,
  });
  let lines = 0;
  fc.assert(
    fc.property(fc.array(text, { maxLength: 3 }), (texts) => {
      for (const line of extractStatements(
        texts.map((parts) => userMessage(parts.join(''))),
        7,
      )) {
        lines++;
        expect(line).toMatch(/^(?:Preference|Decision|Fact) \(as stated\): \S/);
        expect(line).not.toMatch(/[\n\r]|<!--/);
        expect(line.length).toBeLessThan(450);
      }
    }),
  );
  expect(lines).toBeGreaterThan(20);
});

it('takes time in proportion to the text', () => {
  const near = [
    'the a '.repeat(20_000),
    `our ${'x'.repeat(100_000)}`,
    'I '.repeat(50_000),
    'do '.repeat(50_000),
  ];
  // Of this process alone: what others do meanwhile must not count.
  const before = process.cpuUsage();
  for (const text of near) found(text);
  expect(process.cpuUsage(before).user).toBeLessThan(10_000_000);
});
