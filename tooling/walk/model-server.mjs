// Answers every model request with the same text, in the format of OpenAI's Responses API. Everything else in the walk is real.
import { createServer } from 'node:http';
import { openaiAnswer, openaiStream, openaiText } from '../../packages/ai-sdk/test/support/answers.ts';

export async function serveModel(text) {
  const answer = openaiAnswer([openaiText(text)]);
  const events = openaiStream(answer).events.map(
    (event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
  );
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const [type, content] = JSON.parse(body || '{}').stream
      ? ['text/event-stream', events.join('')]
      : ['application/json', JSON.stringify(answer.json)];
    response.writeHead(200, { 'content-type': type }).end(content);
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    address: `http://127.0.0.1:${server.address().port}/v1`,
    close: () => new Promise((closed) => server.close(closed)),
  };
}
