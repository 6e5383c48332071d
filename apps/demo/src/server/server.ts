import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { serveStatic } from '@hono/node-server/serve-static';
import { Hono, type MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { compress } from 'hono/compress';
import { etag } from 'hono/etag';
import { secureHeaders } from 'hono/secure-headers';
import { apiError, isForClients, thrownError } from './errors.js';
import { bearer, sameOrigin } from './guard.js';
import { apiRoutes, type PageBackend } from './routes.js';

const MAX_BODY_BYTES = 1_048_576;

export interface ServerOptions {
  readonly backend: PageBackend;
  /** The folder of the built page. */
  readonly webRoot: string;
  /** The host to listen on. Default `127.0.0.1`. */
  readonly host?: string | undefined;
  /** The port; 0 for any free one. Default 4173. */
  readonly port?: number | undefined;
  /** The secret that callers must send, even from this machine. Default: a new random one. */
  readonly token?: string | undefined;
  /** Milliseconds between heartbeats of an idle event stream. Default 15 000. */
  readonly heartbeatMs?: number | undefined;
  /** Receives internal errors. Default: logs them to stderr. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface DemoServer {
  /** Starts listening. Resolves with the URL to open, including the token. */
  listen(): Promise<string>;
  /** Ends event streams and closes connections. The caller closes the backend. */
  close(): Promise<void>;
}

/**
 * Creates the demo's server: the page and its API. Local requests need the token too, because commands that the agent runs are also local.
 */
export function createServer(options: ServerOptions): DemoServer {
  const { backend, webRoot, host = '127.0.0.1', port = 4173, heartbeatMs = 15_000 } = options;
  const token = options.token ?? randomBytes(24).toString('base64url');
  const onError = options.onError ?? ((error: unknown) => console.error(error));

  const closing = new AbortController();
  const app = new Hono();
  app.use('/api/*', noStore);
  app.use(compress(), headers, sameOrigin(host), bearer(token));
  app.use(
    '/api/*',
    bodyLimit({
      maxSize: MAX_BODY_BYTES,
      onError: (context) => apiError(context, 413, 'too_large', 'The request is larger than 1 MiB.'),
    }),
  );
  app.route('/api', apiRoutes(backend, { heartbeatMs, closing: closing.signal }));
  app.all('/api/*', (context) => apiError(context, 404, 'no_such_route', 'This address does not exist.'));
  const pageFiles = serveStatic({
    root: webRoot,
    onFound(_, context) {
      // Files with a content hash in their name never change.
      const isNamedSo = context.req.path.startsWith('/assets/');
      context.header('Cache-Control', isNamedSo ? 'public, max-age=31536000, immutable' : 'no-cache');
    },
  });
  app.get('*', etag(), pageFiles, (context) => {
    if (context.req.path !== '/') return context.text('Not found', 404);
    return context.text('The page has not been built. Run `npm run build`, then start again.', 503);
  });
  app.onError((error, context) => {
    // A client that disconnects, and so aborts its request, is not an error.
    if (!isForClients(error) && !context.req.raw.signal.aborted) onError(error);
    return thrownError(context, error);
  });

  const server = createAdaptorServer({ fetch: app.fetch });
  return {
    async listen() {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, resolve);
      });
      const address = server.address() as AddressInfo;
      const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
      return `http://${name}:${address.port}/?token=${encodeURIComponent(token)}`;
    },
    async close() {
      closing.abort();
      if (!server.listening) return;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      if ('closeAllConnections' in server) server.closeAllConnections();
      await closed;
    },
  };
}

/** Allows the page only its own files and its own server, and forbids framing. */
const headers = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    imgSrc: ["'self'", 'data:'],
    connectSrc: ["'self'"],
    baseUri: ["'none'"],
    formAction: ["'none'"],
    frameAncestors: ["'none'"],
  },
  xFrameOptions: 'DENY',
  // Only a TLS proxy in front knows if its host has TLS everywhere.
  strictTransportSecurity: false,
});

const noStore: MiddlewareHandler = async (context, next) => {
  await next();
  context.header('Cache-Control', 'no-store');
};
