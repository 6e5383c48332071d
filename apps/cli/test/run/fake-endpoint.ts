import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the fake model answers: text, text before the connection breaks, a tool call with text before it, or an error. */
export type Answer =
  | { readonly status: number }
  /** With `until`, the last word comes when that is settled. `finish`: the reason why the answer ends. */
  | { readonly text: string; readonly until?: Promise<void>; readonly finish?: string }
  | { readonly cut: string }
  | { readonly call: string; readonly input: object; readonly says?: string };

export interface FakeEndpoint {
  readonly url: string;
  /** The messages of every request so far. */
  readonly requests: readonly { readonly role: string; readonly content: unknown }[][];
  close(): Promise<void>;
}

/** A server that speaks the Chat Completions protocol, streamed, and answers in turn. */
export async function fakeEndpoint(answers: readonly Answer[]): Promise<FakeEndpoint> {
  const requests: { readonly role: string; readonly content: unknown }[][] = [];
  const left = [...answers];
  const server = createServer(async (request, response) => {
    if (request.url?.endsWith('/models')) {
      response.end(JSON.stringify({ object: 'list', data: [{ id: 'fake', object: 'model' }] }));
      return;
    }
    if (request.method !== 'POST') {
      response.writeHead(404).end();
      return;
    }
    const { messages } = JSON.parse(await bodyOf(request));
    requests.push(messages);
    const answer = left.shift();
    if (answer === undefined || 'status' in answer) {
      response.writeHead(answer?.status ?? 400, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({
          error: { message: answer ? 'unavailable' : 'no answer left', type: 'invalid_request_error' },
        }),
      );
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const chunks = chunksOf(answer, requests.length);
    for (const [index, chunk] of chunks.entries()) {
      // Behind the last word come the end and the usage.
      if ('text' in answer && index === chunks.length - 3) await answer.until;
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    }
    if ('cut' in answer) setImmediate(() => response.destroy());
    else response.end('data: [DONE]\n\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function chunksOf(answer: Exclude<Answer, { readonly status: number }>, count: number): readonly object[] {
  const base = { id: `answer-${count}`, object: 'chat.completion.chunk', created: 1, model: 'fake' };
  const choice = (delta: object, finish_reason: string | null = null) => ({
    ...base,
    choices: [{ index: 0, delta, finish_reason }],
  });
  const usage = {
    ...base,
    choices: [],
    usage: { prompt_tokens: 100, completion_tokens: 5, total_tokens: 105 },
  };
  if ('text' in answer) {
    const words = answer.text.split(/(?<= )/);
    return [
      ...words.map((content) => choice({ role: 'assistant', content })),
      choice({}, answer.finish ?? 'stop'),
      usage,
    ];
  }
  if ('cut' in answer) return [choice({ role: 'assistant', content: answer.cut })];
  const call = {
    index: 0,
    id: `call-${count}`,
    type: 'function',
    function: { name: answer.call, arguments: JSON.stringify(answer.input) },
  };
  return [
    choice({ role: 'assistant', content: answer.says ?? null, tool_calls: [call] }),
    choice({}, 'tool_calls'),
    usage,
  ];
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += chunk;
  return body;
}
