import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { bundled } from '../../../../tooling/bundled.js';

/** Runs a program of this directory in a process of its own, and answers how it ended. */
export async function runChild(name: string, ...parameters: readonly string[]): Promise<number | null> {
  return runUntil(Number.POSITIVE_INFINITY, name, ...parameters);
}

/** The same, and kills the process without a warning once it has written so many times. */
export async function runUntil(
  writes: number,
  name: string,
  ...parameters: readonly string[]
): Promise<number | null> {
  const program = bundled(fileURLToPath(new URL(`${name}.ts`, import.meta.url)));
  const child = spawn(process.execPath, [program, ...parameters], { stdio: ['ignore', 'pipe', 'inherit'] });
  let seen = 0;
  child.stdout.on('data', () => {
    seen++;
    if (seen === writes) child.kill('SIGKILL');
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}
