import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** `X_FUZZED_LINES=10000` tries more. */
export const LINES = Number(process.env.X_FUZZED_LINES ?? 2_000);
export const SHELLS = ['dash', 'bash', 'busybox'] as const;

/** What a line prints in a shell, if the machine has it; a syntax error is nothing that was done. */
export function runIn(shell: string, line: string, cwd: string, PATH: string): string {
  const place = [`/bin/${shell}`, `/usr/bin/${shell}`].find((path) => existsSync(path));
  if (place === undefined) return '';
  const applet = shell === 'busybox' ? ['sh'] : [];
  const options = { cwd, env: { PATH, HOME: cwd }, input: '', timeout: 5_000 };
  const { stdout, stderr } = spawnSync(place, [...applet, '-c', line], options);
  return `${stdout}${stderr}`;
}
