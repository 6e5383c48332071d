import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { severableProxy } from '../src/index.js';

describe('severableProxy', () => {
  it('passes everything on in both directions', async () => {
    const { ask } = await proxied();
    expect(await ask('hello')).toBe('HELLO');
    expect(await ask('again')).toBe('AGAIN');
  });

  it('ends the connection before a request, once', async () => {
    const { proxy, ask, received } = await proxied();
    const severed = proxy.severBefore('ell');
    expect(await ask('hello')).toBeUndefined();
    await severed;
    expect(received).toEqual([]);
    expect(await ask('hello')).toBe('HELLO');
  });

  it('ends the connection in the middle of a request, once', async () => {
    const { proxy, ask, received } = await proxied();
    const severed = proxy.severDuring('ell');
    expect(await ask('hello!')).toBeUndefined();
    await severed;
    expect(await ask('hello')).toBe('HELLO');
    expect(received).toEqual(['hel', 'hello']);
  });

  it('ends the connection instead of a reply, once', async () => {
    const { proxy, ask, received } = await proxied();
    const severed = proxy.severReplyTo('ell');
    expect(await ask('other')).toBe('OTHER');
    expect(await ask('hello')).toBeUndefined();
    await severed;
    expect(received).toEqual(['other', 'hello']);
    expect(await ask('hello')).toBe('HELLO');
  });

  it('disturbs every so many-th request, by turns', async () => {
    const { proxy, ask, received } = await proxied();
    proxy.disturb(2);
    const replies: unknown[] = [];
    for (const text of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) replies.push(await ask(text));
    // The reply to the second is lost, the fourth comes late, the sixth does not arrive.
    expect(replies).toEqual(['A', undefined, 'C', 'D', 'E', undefined, 'G']);
    expect(received).toEqual(['a', 'b', 'c', 'd', 'e', 'g']);
    proxy.disturb(Number.POSITIVE_INFINITY);
    expect(await ask('h')).toBe('H');
  });

  it('ends all connections, also new ones', async () => {
    const { proxy, ask } = await proxied();
    expect(await ask('hello')).toBe('HELLO');
    proxy.sever();
    expect(await ask('hello')).toBeUndefined();
  });
});

/** In front of a server that shouts back. */
async function proxied() {
  const received: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      received.push(String(chunk));
      socket.write(String(chunk).toUpperCase());
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = await severableProxy('127.0.0.1', (server.address() as AddressInfo).port);
  onTestFinished(async () => {
    await proxy.close();
    server.close();
  });
  const ask = async (text: string): Promise<string | undefined> => {
    const socket = connect(proxy.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(text);
    const reply = await Promise.race([
      once(socket, 'data').then(([chunk]) => String(chunk)),
      closed(socket).then(() => undefined),
    ]);
    socket.destroy();
    return reply;
  };
  return { proxy, ask, received };
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.on('close', () => resolve());
  });
}
