import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkDocuments } from '../../checks/documents.js';
import { repository } from '../../checks/workspace.js';
import { temporaryRepository } from './temporary-repository.js';

test('code that does not compile or run is named by its file and line', async () => {
  const root = temporaryRepository({
    'tsconfig.base.json': readFileSync(join(repository, 'tsconfig.base.json'), 'utf8'),
    'README.md': ['```ts', 'const a = 1;', 'export const b: string = a;', '```'].join('\n'),
    'docs/guides/start.md': [
      '```ts run',
      "import { strictEqual } from 'node:assert';",
      'strictEqual(process.env.HOME, process.cwd());',
      '```',
      '```ts run',
      "throw new Error('no such luck');",
      '```',
      '```ts run',
      "console.log('four', 2 + 2);",
      '```',
      '```text output',
      'four 5',
      '```',
      '```ts run',
      "console.log('another each time:', Math.random(), 'but this.');",
      '```',
      '```text output',
      'another …, but that.',
      '```',
      '```ts run',
      "console.log('another each time:', Math.random(), 'but this.');",
      '```',
      '```text output',
      'another …but this.',
      '```',
      '```ts run',
      "console.log('nobody is told');",
      '```',
      // The same name again: every fence is a module of its own.
      '```ts',
      'const a = [1][0];',
      'a.toFixed();',
      '```',
    ].join('\n'),
  });
  const problems = await checkDocuments(root);
  expect(problems).toHaveLength(6);
  expect(problems).toEqual(
    expect.arrayContaining([
      { file: 'README.md', line: 3, message: "Type 'number' is not assignable to type 'string'." },
      { file: 'docs/guides/start.md', line: 31, message: "'a' is possibly 'undefined'." },
      ...[9, 15, 27].map((line) => ({
        file: 'docs/guides/start.md',
        line,
        message: expect.stringContaining('the output below this code is wrong'),
      })),
      { file: 'docs/guides/start.md', line: 6, message: expect.stringContaining('no such luck') },
    ]),
  );
});

const guide = (name: string) => readFileSync(join(repository, 'docs', `${name}.md`), 'utf8');

test.each([
  ['models', ['## When a model fails', '## Files']],
  ['security', ['## Prompt injection', '## Sandbox', '## Multi-tenant']],
  ['reference/errors', ['# Errors', 'API key', 'session_unavailable']],
  ['deploy', ['# Deploy', '## Containers']],
])('people find %s by the words of their field', (page, words) => {
  const text = guide(page);
  expect(words.filter((word) => !text.includes(word))).toEqual([]);
});

test('the README fits one screen', () => {
  const readme = readFileSync(join(repository, 'README.md'), 'utf8');
  expect(readme.split('\n').length).toBeLessThan(100);
  expect(readme.match(/^\| ?-+:?/gm)).toHaveLength(1);
});
