import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

it.each([
  ['@x/testkit', false],
  ['@x/testkit/suites', true],
])('%s loads vitest: %s', (name, loads) => {
  // A resolver that knows no vitest: whoever needs it fails.
  const hook = `export const resolve = (name, context, next) => {
    if (name === 'vitest') throw new Error('vitest is wanted');
    return next(name, context);
  };`;
  const code = `
    import { register } from 'node:module';
    register('data:text/javascript,' + ${JSON.stringify(encodeURIComponent(hook))});
    await import('${name}').then(() => console.log(false), ({ message }) => console.log(message === 'vitest is wanted'));`;
  const flags = ['--conditions=@x/source', '--import', 'tsx', '--input-type=module', '--eval', code];
  const printed = execFileSync(process.execPath, flags, { encoding: 'utf8', cwd: import.meta.dirname });
  expect(printed.trim()).toBe(String(loads));
});
