import { expect, test } from 'vitest';
import { checkExports, publicNames } from '../../checks/exports.js';
import { temporaryRepository } from './temporary-repository.js';

const entry = (source: string) => ({ '@x/source': `./src/${source}.ts` });

const files = {
  'package.json': {},
  'packages/one/package.json': {
    name: '@x/one',
    exports: {
      '.': entry('index'),
      './more': entry('more/index'),
      './internal': entry('internal'),
      './package.json': './package.json',
    },
  },
  'packages/one/src/index.ts': [
    "export { a, type B } from './parts.js';",
    "export type {\n  C,\n  D as E,\n} from './parts.js';",
    "export * from './rest.js';",
  ].join('\n'),
  'packages/one/src/rest.ts': 'export async function f() {}\nexport const g = 1;\nconst hidden = 2;',
  'packages/one/src/more/index.ts': "export { a } from '../parts.js';\nexport abstract class H {}",
  'packages/one/src/internal.ts': "export { secret } from './parts.js';",
  'packages/suites/package.json': { name: '@x/suites', private: true, exports: { '.': entry('index') } },
  'packages/suites/src/index.ts': 'export const unseen = 1;',
};

test('every name of a public entry is found once, whichever way it is exported', () => {
  const names = publicNames(temporaryRepository(files)).map(({ name }) => name);
  expect(names).toEqual(['a', 'B', 'C', 'E', 'f', 'g', 'H']);
});

test('a name must be in the code of a document', () => {
  const root = temporaryRepository({
    ...files,
    'README.md': '`a` and C',
    'packages/one/README.md': '```ts\nconst b: B = f(g);\n```',
    'docs/reference/one.md': '| `E`, `H` | types |',
    'docs/notes.txt': '`C`',
  });
  expect(checkExports(root)).toEqual([
    {
      file: 'packages/one/src/index.ts',
      message:
        'exports C, which no document mentions: document it, export it from ./internal, or remove the export',
    },
  ]);
});
