import { randomInt } from 'node:crypto';
import { mkdir, rmdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Redis Cluster's nodes also listen so much higher, for each other. */
const BUS = 10_000;
// Wide apart from each other's second ports, and all of them below every system's ephemeral ports, so that no outgoing
// connection takes one before its server binds it.
const range = { from: 10_000, to: 20_000 };

export interface ClaimedPort {
  readonly port: number;
  /** New and empty. The port is claimed for as long as it is there, and whoever has it removes it. */
  readonly directory: string;
}

/**
 * A loopback port that nobody listens on, nor will: every server that is started by this takes a port by making the
 * directory of that name, which only one process can.
 */
export async function claimPort(): Promise<ClaimedPort> {
  for (;;) {
    const port = randomInt(range.from, range.to);
    // Short, as it will hold a Unix socket, and those paths end at 104 bytes.
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
