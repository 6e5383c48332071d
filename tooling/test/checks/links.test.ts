import { expect, test } from 'vitest';
import { checkLinks } from '../../checks/links.js';
import { temporaryRepository } from './temporary-repository.js';

const files = {
  'packages/core/package.json': { name: '@x/core' },
  'packages/core/src/index.ts': '',
  'docs/guide.md': '# Guide\n\n## Part `a.b`, or [c](./guide)\n\n```sh\n# comment\n```',
  'docs/decisions/0001-one.md': '',
  'examples/one.ts': '',
};

const found = (more: Readonly<Record<string, string>>) =>
  checkLinks(temporaryRepository({ ...files, ...more })).map(
    ({ file, line, message }) => `${file}:${line} ${message}`,
  );

test('links lead to pages with or without ".md", to files and to folders', () => {
  expect(
    found({
      'docs/index.md': [
        '# Here',
        '[a](./guide) [b](guide.md#part-ab-or-c) [c](/guide) [d](decisions/0001-one.md) [e](#here) [f](/api/index.html#x)',
        '[g](../packages/core) [h](../packages/core/src/index.ts) [i](https://example.com/none)',
        '`[j](none)`',
        '```ts',
        'list[k](none)',
        '```',
        '- item',
        '',
        '  ```ts',
        '  list[l](none)',
        '  ```',
      ].join('\n'),
      'examples/README.md': '[one](one.ts)',
      'packages/core/README.md': '[it](../../docs/guide.md)',
    }),
  ).toEqual([]);
});

test('a link to what is gone is told with its line', () => {
  expect(
    found({
      'docs/decisions/0002-two.md':
        'Two.\n\n[one](./0001-none) and [source](../../packages/core/src/none.ts)',
      'examples/README.md': '[two](two.ts) [part](../docs/guide#part) [comment](/guide#comment)',
      'packages/core/README.md': '[guide](../../docs/none.md)',
      'SECURITY.md': '[report](../../security/advisories/new) and [page](docs/none.md)',
    }),
  ).toEqual([
    'docs/decisions/0002-two.md:3 links to ./0001-none, which does not exist',
    'docs/decisions/0002-two.md:3 links to ../../packages/core/src/none.ts, which does not exist',
    'examples/README.md:1 links to two.ts, which does not exist',
    'examples/README.md:1 links to ../docs/guide#part, which does not exist',
    'examples/README.md:1 links to /guide#comment, which does not exist',
    'packages/core/README.md:1 links to ../../docs/none.md, which does not exist',
    'SECURITY.md:1 links to docs/none.md, which does not exist',
  ]);
});
