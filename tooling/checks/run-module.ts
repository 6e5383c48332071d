import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Only against what hangs: a busy machine takes ten times as long as an idle one.
const secondsAllowed = 180;
const loader = import.meta.resolve('tsx');

/**
 * Runs a TypeScript module with nothing but Node: an empty working directory, no API keys and no settings in the
 * environment.
 *
 * @returns its standard output, and what went wrong with the end of all output unless it exited 0 in time.
 */
export async function runModule(
  path: string,
): Promise<{ readonly stdout: string; readonly failure?: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'x-example-'));
  try {
    return await new Promise((done) => {
      const child = spawn(process.execPath, ['--conditions=@x/source', '--import', loader, path], {
        cwd: directory,
        env: { PATH: process.env.PATH, HOME: directory },
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: secondsAllowed * 1000,
        killSignal: 'SIGKILL',
      });
      let stdout = '';
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => {
        stdout += chunk;
      });
      const keep = (chunk: Buffer) => {
        output = (output + chunk).slice(-4000);
      };
      child.stdout.on('data', keep);
      child.stderr.on('data', keep);
      child.once('close', (code, signal) => {
        if (code === 0) return done({ stdout });
        const how = signal === null ? `exited with ${code}` : `did not end within ${secondsAllowed} s`;
        done({ stdout, failure: `${how}\n${output.trim()}` });
      });
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
