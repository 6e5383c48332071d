import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { runCli } from '../../src/cli.js';

/** The command's program, as `build.ts` has built it. */
export const main = fileURLToPath(new URL('../../node_modules/.cache/x/dist/main.js', import.meta.url));

export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `x` with these arguments in the test's own process: it neither reads standard input nor ends. */
export async function x(args: readonly string[]): Promise<Ended> {
  const [output, errors] = [new PassThrough(), new PassThrough()];
  const read = Promise.all([text(output), text(errors)]);
  const status = await runCli(args, { output, errors });
  output.end();
  errors.end();
  const [stdout, stderr] = await read;
  return { status, stdout, stderr };
}

/** Runs `x` with these arguments to its end, in a process, as its users do. */
export async function runCommand(
  args: readonly string[],
  {
    input = '',
    env = process.env,
    cwd,
  }: { readonly input?: string; readonly env?: NodeJS.ProcessEnv; readonly cwd?: string } = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [main, ...args], { env, ...(cwd === undefined ? {} : { cwd }) });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  // A command that refuses its arguments may be gone before it has read.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const [status] = await once(child, 'close');
  return { status, stdout, stderr };
}
