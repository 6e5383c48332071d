import { createServer, type ServerOptions } from '../../src/server/server.js';
import { FakeBackend } from '../fake-backend/fake-backend.js';

/** A server on a free port with a scripted backend, for one test. */
export async function startServer(options: Partial<ServerOptions> = {}) {
  const backend = new FakeBackend();
  const server = createServer({ backend, webRoot: '/nowhere', port: 0, heartbeatMs: 50, ...options });
  const address = new URL(await server.listen());
  const cookie =
    (await fetch(address, { redirect: 'manual' })).headers.get('set-cookie')?.split(';')[0] ?? '';
  return {
    backend,
    origin: address.origin,
    address: address.href,
    cookie,
    close: () => server.close(),
    /** A request as the page makes it. */
    ask: (path: string, init: RequestInit = {}) =>
      fetch(new URL(path, address), {
        ...init,
        headers: { Cookie: cookie, ...(init.headers as Record<string, string>) },
      }),
    post: (path: string, body: unknown, headers: Record<string, string> = {}) =>
      fetch(new URL(path, address), {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'Content-Type': 'application/json', Cookie: cookie, ...headers },
      }),
  };
}
