import { expect, test } from 'vitest';
import { checkDependencyRule } from '../../checks/dependency-rule.js';
import { repository } from '../../checks/workspace.js';
import { temporaryRepository } from './temporary-repository.js';

const ships = { '@cfworker/json-schema': '^4', zod: '^4' };
const core = { name: '@x/core', dependencies: ships };
const testkit = { name: '@x/testkit', dependencies: { '@x/core': '*' } };
const redis = {
  name: '@x/redis',
  dependencies: { '@x/core': '*' },
  peerDependencies: { ioredis: '*' },
  devDependencies: { '@x/testkit': '*' },
};

function problemsOf(files: Record<string, string | object>): string[] {
  const root = temporaryRepository({
    'packages/core/package.json': core,
    'packages/testkit/package.json': testkit,
    'packages/redis/package.json': redis,
    'apps/demo/package.json': { name: '@x/demo', dependencies: { '@x/core': '*', '@x/redis': '*' } },
    ...files,
  });
  return checkDependencyRule(root).map(({ file, message }) => `${file} ${message}`);
}

test('a repository that keeps the rule has no problems, and ours is one', () => {
  expect(problemsOf({})).toEqual([]);
  expect(checkDependencyRule(repository)).toEqual([]);
});

test.each(['dependencies', 'peerDependencies', 'optionalDependencies'])(
  'a package must not ship with its neighbor, not even through %s',
  (field) => {
    expect(
      problemsOf({ 'packages/redis/package.json': { name: '@x/redis', [field]: { '@x/testkit': '*' } } }),
    ).toEqual(['packages/redis/package.json must not depend on @x/testkit: only apps combine packages']);
  },
);

test.each([
  ['statically', "import { a } from '@x/testkit';"],
  ['for its types', "import type { A } from '@x/testkit';"],
  ['for one type', "let a: import('@x/testkit').A;"],
  ['by passing it on', "export * from '@x/testkit';"],
  ['when first used', "const load = () => import('@x/testkit');"],
  ['by an entry point', "import { a } from '@x/testkit/vitest';"],
])('its source must not import the neighbor %s', (_, statement) => {
  const source = `import { a } from '@x/core/internal';\n${statement}`;
  expect(problemsOf({ 'packages/redis/src/deep.ts': source })).toEqual([
    'packages/redis/src/deep.ts must not import @x/testkit: only apps combine packages',
  ]);
});

test('core ships with zod, a JSON Schema validator and digests, no more and no less', () => {
  const manifest = (dependencies: object) => ({
    'packages/core/package.json': { name: '@x/core', dependencies },
  });
  expect(problemsOf(manifest({ ...ships, ms: '1' }))).toEqual([
    'packages/core/package.json must depend on exactly @cfworker/json-schema, zod, not on @cfworker/json-schema, zod, ms',
  ]);
  expect(problemsOf(manifest({}))).toHaveLength(1);
});

test('a package must not ship with what only tests use', () => {
  const problems = problemsOf({
    'packages/redis/package.json': { ...redis, dependencies: { '@x/test-support': '*' } },
  });
  expect(problems).toEqual([
    'packages/redis/package.json must not depend on @x/test-support: only apps combine packages',
  ]);
});

test('nothing depends on an app', () => {
  const problems = problemsOf({
    'packages/redis/package.json': { ...redis, devDependencies: { '@x/demo': '*' } },
  });
  expect(problems).toContain('packages/redis/package.json must not depend on the app @x/demo');
});
