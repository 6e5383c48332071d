import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * A TCP proxy in front of a real server that can break connections at a chosen moment. The methods that break one connection
 * resolve once it is closed. A marker is text that a request contains on the wire; an empty marker matches every request.
 */
export interface SeverableProxy {
  /** Port on 127.0.0.1. */
  readonly port: number;
  /** Breaks the connection at the next request that contains `marker`, before the request reaches the server. */
  severBefore(marker: string): Promise<void>;
  /** Breaks the connection after the server has received half of the next request that contains `marker`. */
  severDuring(marker: string): Promise<void>;
  /** Breaks the connection before the reply to the next request that contains `marker` arrives. The server receives the request. */
  severReplyTo(marker: string): Promise<void>;
  /**
   * Disturbs one in `every` requests. In turn, a request is lost with its connection, a reply is lost with its connection, or a request is
   * delayed. `Infinity` ends the disturbance.
   */
  disturb(every: number): void;
  /** Closes all connections, and every new connection. */
  sever(): void;
  /** Closes all connections and the proxy itself. */
  close(): Promise<void>;
}

const DELAY_MS = 30;

/** Starts a proxy in front of the server at this address. */
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
        // After a complete request, the reply closes the connection. After a partial request, no reply comes, so close it at once.
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
