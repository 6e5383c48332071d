import { expect, it } from 'vitest';
import { runProcess } from '../src/run-process.js';

const node = process.execPath;
const never = new AbortController().signal;

it('tells how a program ended and what it wrote', async () => {
  const script = "process.stdout.write('out'); process.stderr.write('err'); process.exitCode = 3;";
  expect(await runProcess(node, ['-e', script], { timeoutMs: 60_000, stopped: never })).toEqual({
    code: 3,
    output: 'out',
    errors: 'err',
  });
});

it('kills a program that takes too long, and what it has started', async () => {
  const outcome = await runProcess('sh', ['-c', 'sleep 600 & sleep 600'], { timeoutMs: 100, stopped: never });
  expect(outcome.code).toBeNull();
});

it('throws why it was stopped', async () => {
  const controller = new AbortController();
  const running = runProcess('sh', ['-c', 'sleep 600'], { timeoutMs: 60_000, stopped: controller.signal });
  controller.abort(new Error('enough'));
  await expect(running).rejects.toThrow('enough');
  const started = runProcess(node, ['-v'], { timeoutMs: 60_000, stopped: controller.signal });
  await expect(started).rejects.toThrow('enough');
});

it('throws when there is no such program', async () => {
  const missing = runProcess('no-such-program-here', [], { timeoutMs: 60_000, stopped: never });
  await expect(missing).rejects.toThrow(/ENOENT/);
});
