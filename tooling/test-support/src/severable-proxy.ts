import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * A TCP proxy in front of a real server, for connections that break at a chosen moment. A promise to break one is
 * fulfilled when that has happened. A marker is text that a request contains as it is on the wire; the empty one is in
 * all of them.
 */
export interface SeverableProxy {
  /** On 127.0.0.1. */
  readonly port: number;
  /** The next request that contains `marker` does not reach the server: the connection ends instead. */
  severBefore(marker: string): Promise<void>;
  /** The server gets half of the next request that contains `marker`: then the connection ends. */
  severDuring(marker: string): Promise<void>;
  /** The next request that contains `marker` reaches the server; its reply does not come back, the connection ends. */
  severReplyTo(marker: string): Promise<void>;
  /**
   * Of every so many requests one goes wrong, by turns: it does not reach the server and the connection ends, its reply is lost
   * and the connection ends, or it comes late. `Infinity` for none any more.
   */
  disturb(every: number): void;
  /** Ends all connections, and all new ones. */
  sever(): void;
  /** Ends all connections and the proxy itself. */
  close(): Promise<void>;
}

const DELAY_MS = 30;

/** Begins to listen in front of the server at this address. */
export async function severableProxy(host: string, port: number): Promise<SeverableProxy> {
  const sockets = new Set<Socket>();
  let next: { readonly marker: string; readonly share: number; readonly done: () => void } | undefined;
  let isSevered = false;
  let every = Number.POSITIVE_INFINITY;
  let requests = 0;

  const server = createServer((client) => {
    const upstream = connect(port, host);
    let isReplySwallowed = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    if (isSevered) client.destroy();
    client.on('data', (chunk) => {
      if (next !== undefined && chunk.includes(next.marker)) {
        const delivered = chunk.subarray(0, Math.floor(chunk.length * next.share));
        isReplySwallowed = true;
        client.once('close', next.done);
        next = undefined;
        upstream.write(delivered);
        // The server has read all of it by the time it answers; what it cannot answer is cut at once.
        if (delivered.length < chunk.length) upstream.end(() => client.destroy());
        return;
      }
      const isDisturbed = ++requests % every === 0;
      const way = isDisturbed ? (requests / every) % 3 : undefined;
      if (way === 0) client.destroy();
      else if (way === 2) {
        client.pause();
        setTimeout(() => {
          upstream.write(chunk);
          client.resume();
        }, DELAY_MS);
      } else {
        isReplySwallowed ||= isDisturbed;
        upstream.write(chunk);
      }
    });
    upstream.on('data', (chunk) => {
      if (isReplySwallowed) client.destroy();
      else client.write(chunk);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const endAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const severAt = (marker: string, share: number) =>
    new Promise<void>((done) => {
      next = { marker, share, done };
    });
  return {
    port: (server.address() as AddressInfo).port,
    severBefore: (marker) => severAt(marker, 0),
    severDuring: (marker) => severAt(marker, 0.5),
    severReplyTo: (marker) => severAt(marker, 1),
    disturb: (count) => {
      every = count;
    },
    sever: () => {
      isSevered = true;
      endAll();
    },
    close: async () => {
      endAll();
      server.close();
      await once(server, 'close');
    },
  };
}
