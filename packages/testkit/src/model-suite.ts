import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { assistantMessage, checkMessages, type Model, type ModelResponse, userMessage } from '@x/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

export interface ModelSuiteOptions {
  readonly name: string;
  /** Opens the model on a server that speaks HTTP at `url`, whatever is asked for below it. Retries of its own should be off. */
  open(url: string): Model;
  /** Milliseconds after which a request is aborted, for servers that stall. Default 300. */
  readonly abortMs?: number;
}

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

/** What servers, proxies and networks do to an answer. */
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

/**
 * Registers, with vitest, the tests that every `Model` over HTTP must pass: whatever the server does, a request settles, soon after its
 * signal at the latest, and what it gives can be kept.
 *
 * @example
 * ```ts
 * modelSuite({ name: 'mine', open: (url) => new MyModel({ baseUrl: url }) });
 * ```
 */
export function modelSuite({ name, open, abortMs = 300 }: ModelSuiteOptions): void {
  describe(`Model: ${name}`, () => {
    let fault: Fault = reset;
    const server = createServer((request, response) => {
      request.resume().on('end', () => fault(response));
    });
    beforeAll(async () => {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
    });
    afterAll(() => {
      server.closeAllConnections();
      server.close();
    });

    for (const [what, make] of Object.entries(FAULTS)) {
      it(`settles for ${what}`, async () => {
        fault = make;
        const model = open(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
        for (const ask of [() => model.generate(request()), () => streamed(model, request())]) {
          const outcome = await ask().then(
            (response) => ({ response }),
            (error: unknown) => ({ error }),
          );
          if ('error' in outcome) expect(outcome.error).toBeInstanceOf(Error);
          else checkMessages([assistantMessage(outcome.response.content)], what);
        }
      });
    }

    function request() {
      return { messages: [userMessage('Hi')], tools: [], signal: AbortSignal.timeout(abortMs) };
    }
  });
}

async function streamed(model: Model, request: Parameters<Model['generate']>[0]): Promise<ModelResponse> {
  if (model.stream === undefined) return model.generate(request);
  for await (const part of model.stream(request)) if (part.type === 'response') return part.response;
  throw new Error('The stream ended without a response.');
}
