// Answers every request for a model, in the form of OpenAI's Responses API. The only thing of the walk that is not real.
import { createServer } from 'node:http';

export async function serveModel(text) {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      if (JSON.parse(body || '{}').stream !== true) {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer(text)));
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const event of events(text))
        response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      response.end();
    });
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address();
  return {
    address: `http://127.0.0.1:${port}/v1`,
    close: () => new Promise((closed) => server.close(closed)),
  };
}

const message = (text) => ({
  type: 'message',
  id: 'msg_1',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
});

const answer = (text) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'walk',
  output: [message(text)],
  usage: {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 15,
  },
});

function events(text) {
  const at = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  return [
    { type: 'response.created', response: { ...answer(text), status: 'in_progress', output: [] } },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...message(text), status: 'in_progress', content: [] },
    },
    { type: 'response.content_part.added', ...at, part: { type: 'output_text', text: '', annotations: [] } },
    { type: 'response.output_text.delta', ...at, delta: text },
    { type: 'response.output_text.done', ...at, text },
    { type: 'response.output_item.done', output_index: 0, item: message(text) },
    { type: 'response.completed', response: answer(text) },
  ].map((event, index) => ({ ...event, sequence_number: index }));
}
