import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { claimPort } from './claim-port.js';
import type { Running } from './service.js';
import { untilReady } from './until-ready.js';

const supervisor = fileURLToPath(new URL('supervise.mjs', import.meta.url));

/** How to run a private server. */
export interface LocalServer {
  /** Name of the server in messages. */
  readonly name: string;
  /** Returns the commands that prepare the data directory, if any, and as the last one the server itself. */
  commands(directory: string, port: number): readonly (readonly string[])[];
  url(host: string, port: number): string;
  /** Rejects until the server at this URL answers. */
  ping(url: string): Promise<void>;
}

/**
 * Starts a private server on a free loopback port, with its data in a new temporary directory. `stop` ends the server and removes the
 * directory. If this process ends without `stop`, both are removed too.
 *
 * @throws {Error} with the end of the server's output, if the server ends before it answers.
 */
export async function startLocalServer(server: LocalServer): Promise<Running> {
  const { port, directory } = await claimPort();
  const commands = JSON.stringify(server.commands(directory, port));
  const child = spawn(process.execPath, [supervisor, directory, commands], {
    stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
    // In a separate process group, so that Ctrl+C in the terminal reaches only the test runner. If the runner ends, the supervisor stops
    // the server.
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
  // After the server has answered, this promise is not awaited, so its rejection must not count as unhandled.
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
    // Wait until all threads have stopped: after the signal, a thread runs on for a moment and could still answer a request.
    while (!statesOf(stopped).every((state) => state.startsWith('T')));
    return () => {
      for (const id of stopped) process.kill(id, 'SIGCONT');
    };
  };
  return { address: url, stop, crash, pause };
}

/** Returns the states of the threads of these processes. Where `ps` cannot list threads, returns the states of the processes. */
function statesOf(ids: readonly number[]): readonly string[] {
  const threads = process.platform === 'linux' ? ['-L'] : [];
  return execFileSync('ps', [...threads, '-o', 'state=', '-p', ids.join()], { encoding: 'utf8' })
    .trim()
    .split('\n');
}

/** Returns the ids of all descendants of a process. Process groups are not enough, because a server's processes may have left its group. */
function processesBelow(parent: number): readonly number[] {
  const all = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  const below = new Set([parent]);
  // Repeat until nothing is added, because a child may be listed before its parent.
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
