import { expect, test } from 'vitest';
import { extractFences } from '../../checks/fences.js';

const markdown = (...lines: string[]) => lines.join('\n');

test('each TypeScript fence is found with the line of its code', () => {
  const { fences, problems } = extractFences(
    'README.md',
    markdown('# A', '```ts', 'const a = 1;', '', 'a;', '```', 'text', '```typescript', 'b;', '```'),
  );
  expect(problems).toEqual([]);
  expect(fences).toEqual([
    { file: 'README.md', line: 3, code: 'const a = 1;\n\na;\n', run: false },
    { file: 'README.md', line: 9, code: 'b;\n', run: false },
  ]);
});

test('other languages are left alone, and so is what they contain', () => {
  const text = markdown(
    '````md',
    '```ts',
    'const a;',
    '```',
    '````',
    '```sh',
    'ls',
    '```',
    '```',
    'plain',
    '```',
  );
  expect(extractFences('a.md', text)).toEqual({ fences: [], problems: [] });
});

test('a fence can ask to be run', () => {
  expect(extractFences('a.md', markdown('```ts run', 'a;', '```')).fences).toEqual([
    { file: 'a.md', line: 2, code: 'a;\n', run: true },
  ]);
});

test('what stands behind code that runs is what it must print', () => {
  const text = markdown('```ts run', 'a;', '```', '', '```text output', '1', '2', '```');
  expect(extractFences('a.md', text).fences).toMatchObject([{ run: true, output: '1\n2\n' }]);
  const stray = extractFences('a.md', markdown('```ts', 'a;', '```', '```text output', '1', '```'));
  expect(stray.problems).toMatchObject([
    { file: 'a.md', line: 4, message: expect.stringContaining('no code') },
  ]);
});

test('a fence can opt out, but only with a reason', () => {
  const optOut = (instruction: string) =>
    extractFences('a.md', markdown('', `\`\`\`ts ${instruction}`, 'a', '```'));
  expect(optOut('no-check: a fragment')).toEqual({ fences: [], problems: [] });
  for (const instruction of ['no-check', 'no-check:', 'no-check: ', 'ignore', 'run fast']) {
    const { fences, problems } = optOut(instruction);
    expect(fences).toEqual([]);
    expect(problems).toMatchObject([{ file: 'a.md', line: 2 }]);
  }
});

test('fences in lists lose their indentation', () => {
  const list = markdown('- item', '', '  ```ts', '  if (a) {', '    b();', '  }', '', '  ```');
  expect(extractFences('a.md', list).fences[0]?.code).toBe('if (a) {\n  b();\n}\n\n');
});

test('a fence that is never closed goes on to the end', () => {
  expect(extractFences('a.md', markdown('```ts', 'a;', 'b;')).fences).toMatchObject([
    { line: 2, code: 'a;\nb;\n' },
  ]);
});
