import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { checkUnicode, type Json, Refusal } from './checks.js';
import { FORMATS, type Format, type StrictAnswer, type WireFormat } from './formats.js';

const MOST_BYTES = 64_000_000;

/** A local server that rejects what the provider of its protocol rejects, according to its documentation, and answers everything else. */
export interface StrictServer {
  readonly url: string;
  /** The accepted requests, and the reasons of the rejected ones. */
  readonly taken: readonly Json[];
  readonly refused: readonly string[];
  /** Answers the next accepted request with this answer, in place of `ok`. */
  answerNext(answer: StrictAnswer): void;
  close(): Promise<void>;
}

/** Starts a strict server. It answers `ok`, or what it was told to answer next. */
export async function strictServer(format: WireFormat): Promise<StrictServer> {
  const taken: Json[] = [];
  const refused: string[] = [];
  let next: StrictAnswer | undefined;
  const answer = () => {
    const wanted = next ?? { text: 'ok' };
    next = undefined;
    return wanted;
  };
  const server = createServer((request, response) => {
    void serve(FORMATS[format], request, response, answer).then(
      (body) => taken.push(body),
      (error: unknown) => {
        refused.push(String(error));
        const [message, status] =
          error instanceof Refusal ? [error.message, error.status] : [String(error), 500];
        sendJson(response, status, FORMATS[format].errorBody(message, status));
      },
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    taken,
    refused,
    answerNext(answer) {
      next = answer;
    },
    close: () => closed(server),
  };
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

async function serve(
  format: Format,
  request: IncomingMessage,
  response: ServerResponse,
  answer: () => StrictAnswer,
): Promise<Json> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MOST_BYTES) chunks.push(chunk);
  }
  if (bytes > MOST_BYTES) throw new Refusal('request too large', 413);
  const address = request.url?.split('?')[0] ?? '';
  if (!format.path.test(address)) throw new Refusal(`no such address: ${address}`, 404);
  const body = JSON.parse(Buffer.concat(chunks).toString()) as Json;
  checkUnicode(body);
  format.check(body);
  if (body.stream === true || address.includes('stream')) sendEvents(response, format.events(answer()));
  else sendJson(response, 200, format.answer(answer()));
  return body;
}

function sendEvents(response: ServerResponse, events: readonly object[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events)
    response.write(`event: ${(event as Json).type ?? 'message'}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end();
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
