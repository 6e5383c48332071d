import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Runs a program of this directory in a process of its own, and answers how it ended. */
export async function runChild(name: string, ...parameters: readonly string[]): Promise<number | null> {
  const program = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
  const options = ['--conditions', '@x/source', '--import', 'tsx', program, ...parameters];
  const child = spawn(process.execPath, options, { stdio: ['ignore', 'inherit', 'inherit'] });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}
