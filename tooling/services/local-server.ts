import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { claimPort } from './claim-port.js';
import type { Running } from './service.js';
import { untilReady } from './until-ready.js';

const supervisor = fileURLToPath(new URL('supervise.mjs', import.meta.url));

/** How to run a server of one's own. */
export interface LocalServer {
  /** For messages. */
  readonly name: string;
  /** The commands that prepare the data directory, if any, and last the one that serves. */
  commands(directory: string, port: number): readonly (readonly string[])[];
  url(host: string, port: number): string;
  /** Rejects until the server at this URL answers. */
  ping(url: string): Promise<void>;
}

/**
 * Starts a private server on a free loopback port, its data in a new temporary directory.
 * Server and directory are gone after `stop`, and also when this process ends in any other way.
 *
 * @throws {Error} with the server's last words when it ends before it answers.
 */
export async function startLocalServer(server: LocalServer): Promise<Running> {
  const { port, directory } = await claimPort();
  const commands = JSON.stringify(server.commands(directory, port));
  const child = spawn(process.execPath, [supervisor, directory, commands], {
    stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
    // Out of the terminal's process group: Ctrl+C is for the runner, which then lets go of us.
    detached: true,
  });
  const exited = once(child, 'exit');
  let output = '';
  const keep = (chunk: Buffer) => {
    output = (output + chunk).slice(-4000);
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);

  const stop = async () => {
    child.stdin?.end();
    await exited;
  };
  const url = server.url('127.0.0.1', port);
  const gone = exited.then(([code]) => {
    throw new Error(`${server.name} ended with ${code} before it answered: ${output.trim()}`);
  });
  // Once the server answers nobody waits for this any more, and its end is then no error.
  gone.catch(() => {});
  try {
    await Promise.race([untilReady(() => server.ping(url)), gone]);
  } catch (error) {
    await stop();
    throw error;
  }
  const crash = async () => {
    const crashed = once(child, 'message');
    child.send('crash');
    await Promise.race([crashed, gone]);
    await untilReady(() => server.ping(url));
  };
  const pause = () => {
    const stopped = child.pid === undefined ? [] : processesBelow(child.pid);
    for (const id of stopped) process.kill(id, 'SIGSTOP');
    // A thread goes on for a moment after the signal, long enough to answer.
    while (!statesOf(stopped).every((state) => state.startsWith('T')));
    return () => {
      for (const id of stopped) process.kill(id, 'SIGCONT');
    };
  };
  return { address: url, stop, crash, pause };
}

/** The states of the threads of these processes, or of the processes where `ps` lists no threads. */
function statesOf(ids: readonly number[]): readonly string[] {
  const threads = process.platform === 'linux' ? ['-L'] : [];
  return execFileSync('ps', [...threads, '-o', 'state=', '-p', ids.join()], { encoding: 'utf8' })
    .trim()
    .split('\n');
}

/** The ids of the processes that descend from one: a server's may have left its group. */
function processesBelow(parent: number): readonly number[] {
  const all = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  const below = new Set([parent]);
  // Parents mostly have lower ids than their children, and ids begin again at some time.
  for (let size = 0; size < below.size; ) {
    size = below.size;
    for (const line of all) {
      const [id = 0, its = 0] = line.trim().split(/\s+/).map(Number);
      if (below.has(its)) below.add(id);
    }
  }
  below.delete(parent);
  return [...below];
}
