import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

// Below every system's ephemeral ports, so that no outgoing connection takes the port before the server binds it;
// and low enough for Redis Cluster, whose bus listens 10 000 ports higher.
const range = { from: 10_000, to: 32_000 };

/** A loopback port that nobody listens on. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(range.from, range.to);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const server = createServer()
      .once('error', () => done(false))
      .listen(port, '127.0.0.1', () => server.close(() => done(true)));
  });
}
