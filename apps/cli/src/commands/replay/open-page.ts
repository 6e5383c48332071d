import { spawn } from 'node:child_process';

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};

/** Opens a file in the user's browser. Does nothing without a display. */
export function openPage(file: string, environment: NodeJS.ProcessEnv = process.env): void {
  const [program, ...first] = OPENERS[process.platform] ?? ['xdg-open'];
  if (program === 'xdg-open' && !environment.DISPLAY && !environment.WAYLAND_DISPLAY) return;
  const child = spawn(program, [...first, file], { detached: true, stdio: 'ignore' });
  // If there is no such program, the user still has the printed path.
  child.on('error', () => {});
  child.unref();
}
