import { randomInt } from 'node:crypto';
import { mkdir, rmdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Distance from a port of a Redis Cluster node to the second port, on which it listens for other nodes. */
const BUS = 10_000;
/**
 * Range of ports to claim. It does not contain the second ports. All ports are below the ephemeral ports of every system, so that an
 * outgoing connection cannot take a port before the server binds it.
 */
const range = { from: 10_000, to: 20_000 };

export interface ClaimedPort {
  readonly port: number;
  /** A new, empty directory. The port is claimed until the caller removes the directory. */
  readonly directory: string;
}

/**
 * Claims a free loopback port. Each process claims a port by creating a directory with the number of the port in its name, and only one
 * process can create it.
 */
export async function claimPort(): Promise<ClaimedPort> {
  for (;;) {
    const port = randomInt(range.from, range.to);
    // A short path, because it will contain a Unix socket, whose path may have at most 104 bytes.
    const directory = join(tmpdir(), `x-server-${port}`);
    if (!(await makes(directory))) continue;
    if ((await isFree(port)) && (await isFree(port + BUS))) return { port, directory };
    await rmdir(directory);
  }
}

async function makes(directory: string): Promise<boolean> {
  try {
    await mkdir(directory, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const server = createServer()
      .once('error', () => done(false))
      .listen(port, '127.0.0.1', () => server.close(() => done(true)));
  });
}
