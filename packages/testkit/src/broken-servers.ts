import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Model, ModelRequest } from '@x/core';

type Fault = (response: ServerResponse) => void;

const CHUNK = '{"id":"1","choices":[{"index":0,"delta":{"content":"We"}}]}';
const status = (code: number, body = '{"error":{"message":"no"}}', headers = {}): Fault => {
  return (response) =>
    void response.writeHead(code, { 'content-type': 'application/json', ...headers }).end(body);
};
const page = (code: number): Fault => status(code, '<html>Gateway</html>', { 'content-type': 'text/html' });
const body = (text: string | Buffer): Fault => status(200, text as string);
const events = (...data: readonly (string | Buffer)[]): Fault => {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const each of data) response.write(each);
    response.end();
  };
};
const begun = (text: string, end: (response: ServerResponse) => void): Fault => {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(text, () => end(response));
  };
};
const reset = (response: ServerResponse) => void response.destroy();

/** Faults of servers, proxies and networks, by name. */
const FAULTS: Readonly<Record<string, Fault>> = {
  'connection reset': reset,
  'connection reset after the headers': begun(':\n\n', reset),
  'connection reset inside an event': begun(`data: ${CHUNK.slice(0, 20)}`, reset),
  'no response': () => {},
  'no response after the headers': begun(':\n\n', () => {}),
  'no response after the first event': begun(`data: ${CHUNK}\n\n`, () => {}),
  'empty body': body(''),
  'body is null': body('null'),
  'body is {}': body('{}'),
  'body is []': body('[]'),
  'truncated JSON': body('{"choices":[{"mess'),
  'body is not JSON': body('We'),
  'body is not UTF-8': body(Buffer.from([0xff, 0xfe, 0x00])),
  'no choices': body('{"id":"1","choices":[]}'),
  'HTML page with status 200': page(200),
  'HTML page with status 502': page(502),
  'status 204': status(204, ''),
  'redirect to a closed port': status(302, '', { location: 'http://127.0.0.1:9/' }),
  'status 400': status(400),
  'status 401': status(401),
  'status 404': status(404),
  'status 413': status(413),
  'status 429 with retry-after': status(429, undefined, { 'retry-after': '90' }),
  'status 429 with an empty body': status(429, ''),
  'status 500': status(500),
  'status 503': status(503, 'busy'),
  'empty stream': events(),
  'stream without a finish reason': events(`data: ${CHUNK}\n\n`),
  'events that are not JSON': events('data: {"id"\n\n', 'data: [DONE]\n\n'),
  'error event in the stream': events('data: {"error":{"message":"overloaded"}}\n\n'),
  'character split across two chunks': events(
    `data: ${CHUNK.slice(0, -7)}`,
    Buffer.from([0xe2, 0x82]),
    Buffer.from([0xac]),
    '"}}]}\n\n',
  ),
  'body shorter than content-length': (response) => {
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' })
      .write('{"id":', () => reset(response));
  },
};

let address: Promise<string> | undefined;

/** Starts the server, one per process. A request below `/<name of a fault>` gets that fault. */
async function start(): Promise<string> {
  const server = createServer((request, response) => {
    const name = decodeURIComponent(request.url?.split('/')[1] ?? '');
    request.resume().on('end', () => FAULTS[name]?.(response));
  });
  // A server that never answers must not keep the process alive.
  server.on('connection', (socket) => socket.unref()).unref();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A model whose every request hits one fault of a server or a network. */
export interface BrokenModel {
  /** The fault: `connection reset`, `status 429 with retry-after`… */
  readonly name: string;
  open(): Model;
}

/** Creates models on a local server that breaks HTTP or server-sent events, one model per fault. */
export function brokenServers(open: (url: string) => Model): readonly BrokenModel[] {
  return Object.keys(FAULTS).map((name) => ({
    name,
    open: () => {
      address ??= start();
      const opened = address.then((url) => open(`${url}/${encodeURIComponent(name)}`));
      return {
        id: 'broken',
        generate: async (request: ModelRequest) => (await opened).generate(request),
        async *stream(request: ModelRequest) {
          const model = await opened;
          if (model.stream) yield* model.stream(request);
          else yield { type: 'response', response: await model.generate(request) } as const;
        },
      };
    },
  }));
}
