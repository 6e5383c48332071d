import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

it.each([
  ['@x/testkit', false],
  ['@x/testkit/suites', true],
])('%s loads vitest: %s', async (name, loads) => {
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
  const { stdout } = await promisify(execFile)(process.execPath, flags, { cwd: import.meta.dirname });
  expect(stdout.trim()).toBe(String(loads));
});
