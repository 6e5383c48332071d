import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { bundled } from '../../../../tooling/bundled.js';

/** A program of this directory in a process of its own. */
export interface Child {
  readonly process: ChildProcess;
  /** What it prints, line by line, from the beginning on. */
  readonly lines: readonly string[];
  readonly output: Interface;
  /** Resolves with the exit code, or `null` when it was killed. */
  readonly ended: Promise<number | null>;
}

/** Starts a TypeScript program with the sources of the packages. It ends with the test at the latest. */
export function runChild(program: string, ...parameters: readonly string[]): Child {
  const file = join(import.meta.dirname, `${program}.ts`);
  const process_ = spawn(process.execPath, [bundled(file), ...parameters], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void process_.kill('SIGKILL'));
  const lines: string[] = [];
  const output = createInterface({ input: process_.stdout });
  output.on('line', (line) => lines.push(line));
  const ended = Promise.all([once(process_, 'exit'), once(output, 'close')]).then(([[code]]) => code);
  return { process: process_, lines, output, ended };
}

/** Waits until the child has printed `count` lines; fails when it ends before. */
export async function printed(child: Child, count: number): Promise<void> {
  const early = child.ended.then((code) => {
    throw new Error(`The child ended with ${code} after ${child.lines.length} of ${count} lines.`);
  });
  early.catch(() => {});
  while (child.lines.length < count) await Promise.race([once(child.output, 'line'), early]);
}
