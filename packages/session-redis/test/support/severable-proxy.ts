import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy in front of a real server, for connections that break at a chosen moment. */
export interface SeverableProxy {
  readonly port: number;
  /** The next request that contains `marker` reaches the server; its reply does not come back, the connection ends. */
  severReplyTo(marker: string): void;
  /** Ends all connections, and all new ones. */
  sever(): void;
  close(): Promise<void>;
}

export async function severableProxy(host: string, port: number): Promise<SeverableProxy> {
  const sockets = new Set<Socket>();
  let marker: string | undefined;
  let severed = false;

  const server = createServer((client) => {
    const upstream = connect(port, host);
    let swallow = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    if (severed) client.destroy();
    client.on('data', (chunk) => {
      if (marker !== undefined && chunk.includes(marker)) {
        marker = undefined;
        swallow = true;
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (swallow) client.destroy();
      else client.write(chunk);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const endAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    severReplyTo: (text) => {
      marker = text;
    },
    sever: () => {
      severed = true;
      endAll();
    },
    close: async () => {
      endAll();
      server.close();
      await once(server, 'close');
    },
  };
}
