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
  'a reset at once': reset,
  'a reset behind the headers': begun(':\n\n', reset),
  'a reset in the middle of an event': begun(`data: ${CHUNK.slice(0, 20)}`, reset),
  silence: () => {},
  'silence behind the headers': begun(':\n\n', () => {}),
  'silence in the middle of a stream': begun(`data: ${CHUNK}\n\n`, () => {}),
  'an empty body': body(''),
  null: body('null'),
  'an empty object': body('{}'),
  'a list': body('[]'),
  'cut JSON': body('{"choices":[{"mess'),
  'no JSON': body('We'),
  'bytes that are no text': body(Buffer.from([0xff, 0xfe, 0x00])),
  'no choices': body('{"id":"1","choices":[]}'),
  'a page of HTML for 200': page(200),
  'a page of HTML for 502': page(502),
  'no content': status(204, ''),
  'a redirect to nowhere': status(302, '', { location: 'http://127.0.0.1:9/' }),
  '400': status(400),
  '401': status(401),
  '404': status(404),
  '413': status(413),
  '429 with a pause': status(429, undefined, { 'retry-after': '90' }),
  '429 without a word': status(429, ''),
  '500': status(500),
  '503': status(503, 'busy'),
  'an empty stream': events(),
  'an end without a reason': events(`data: ${CHUNK}\n\n`),
  'events that are no JSON': events('data: {"id"\n\n', 'data: [DONE]\n\n'),
  'an error in the stream': events('data: {"error":{"message":"overloaded"}}\n\n'),
  'a character cut in two': events(
    `data: ${CHUNK.slice(0, -7)}`,
    Buffer.from([0xe2, 0x82]),
    Buffer.from([0xac]),
    '"}}]}\n\n',
  ),
  'a body shorter than announced': (response) => {
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' })
      .write('{"id":', () => reset(response));
  },
};

let address: Promise<string> | undefined;

/** Starts the server, one for the process. A request below `/<name of a fault>` meets that fault. */
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

/** A model whose every request meets one fault of a server or a network. */
export interface BrokenModel {
  /** The fault: `a reset at once`, `429 with a pause`… */
  readonly name: string;
  open(): Model;
}

/** Opens a model on a local server that breaks HTTP or server-sent events, once for each way to break them. */
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
