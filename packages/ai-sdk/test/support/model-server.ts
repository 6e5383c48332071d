import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach } from 'vitest';

/** What the server answers one request with. */
export interface Answer {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as server-sent events: `[event, data]`, or data alone. */
  readonly events?: readonly (unknown | readonly [event: string, data: unknown])[];
  /** The connection breaks after the events. */
  readonly breaks?: boolean;
  /** The answer stays open after the events, until the client goes away. */
  readonly hangs?: boolean;
}

export interface ModelServer {
  readonly url: string;
  /** Bodies of the requests so far, parsed. */
  readonly bodies: readonly Record<string, unknown>[];
  readonly requests: readonly IncomingMessage[];
  /** Resolves when the client has closed the connection of the last answer that hangs. */
  readonly closed: Promise<void>;
}

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(cleanups.splice(0).map((cleanup) => cleanup()));
});

/** A model provider on this machine that gives the answers in their order. Ends with the test. */
export async function modelServer(...answers: readonly Answer[]): Promise<ModelServer> {
  const bodies: Record<string, unknown>[] = [];
  const requests: IncomingMessage[] = [];
  let gone: () => void = () => {};
  const closed = new Promise<void>((resolve) => {
    gone = resolve;
  });
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    bodies.push(JSON.parse(body) as Record<string, unknown>);
    requests.push(request);
    response.on('close', gone);
    send(response, answers[bodies.length - 1] ?? { status: 500, json: { error: { message: 'unscripted' } } });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(
    () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
      }),
  );
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, bodies, requests, closed };
}

function send(response: ServerResponse, answer: Answer): void {
  const { status = 200, headers = {}, json, events, breaks = false, hangs = false } = answer;
  if (events === undefined) {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(json === undefined ? '' : JSON.stringify(json));
    return;
  }
  response.writeHead(status, { 'content-type': 'text/event-stream', ...headers });
  for (const event of events) {
    const [name, data] = Array.isArray(event) ? event : [undefined, event];
    const text = typeof data === 'string' ? data : JSON.stringify(data);
    response.write(`${name === undefined ? '' : `event: ${name}\n`}data: ${text}\n\n`);
  }
  if (breaks) setImmediate(() => response.destroy());
  else if (!hangs) response.end();
}
