// A chat of useChat over HTTP, kept in a session store and resumable: the same two handlers serve Hono and Next.js.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { decisionsIn, ResumableStreams, toUIMessageStream, UIMessageStore } from '@x/ai-sdk';
import { RuntimeContext } from '@x/core';
import { JsonSession } from '@x/core/node';
import { HarnessAgent } from '@x/harness';
import { ScriptedModel } from '@x/testkit';
import {
  createUIMessageStream,
  createUIMessageStreamResponse,
  readUIMessageStream,
  type UIMessage,
} from 'ai';
import { Hono } from 'hono';

const directory = mkdtempSync(join(tmpdir(), 'x-example-'));
const store = new JsonSession({ directory: join(directory, 'sessions') });
const agent = HarnessAgent.builder()
  .model(new ScriptedModel([{ text: 'Bern.' }, { text: 'And still Bern.' }, { text: 'Yes.' }]))
  .workspace(join(directory, 'workspace'))
  .session(store)
  .build();

const users = new Map([['secret-of-alice', 'alice']]);

/** Your sign-in maps a secret to a user. Never trust a user's id that the client sends. */
function userOf(request: Request): string | undefined {
  const [, secret = ''] = /(?:^|; )login=([^;]*)/.exec(request.headers.get('cookie') ?? '') ?? [];
  return users.get(secret);
}

const refuse = () => new Response('Sign in first.', { status: 401 });

/** POST /api/chat: `useChat` sends the chat's id and messages. */
export async function POST(request: Request): Promise<Response> {
  const userId = userOf(request);
  if (userId === undefined) return refuse();
  const body: unknown = await request.json().catch(() => undefined);
  const { id, messages } = (body ?? {}) as { id?: string; messages?: UIMessage[] };
  if (id === undefined || messages === undefined) return new Response('No chat.', { status: 400 });
  const question = messages
    .at(-1)
    ?.parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .join('\n');
  const context = RuntimeContext.of({ userId, sessionId: id });
  // A call that waited was approved or denied on the page: the agent continues with it.
  const decisions = decisionsIn(messages);
  const chats = new UIMessageStore<UIMessage>({ store, userId });
  // A second tab may have an older state of the chat. So only its new message is stored, and none if it only decides.
  if (!decisions) await chats.append(id, messages.slice(-1));
  const stream = createUIMessageStream<UIMessage>({
    originalMessages: messages,
    execute: ({ writer }) =>
      writer.merge(
        toUIMessageStream(
          decisions ? agent.resumeStream(context, { decisions }) : agent.stream(question ?? '', context),
        ) as ReadableStream,
      ),
    onFinish: async ({ responseMessage }) => {
      if (!isDeepStrictEqual(responseMessage, messages.at(-1))) await chats.append(id, [responseMessage]);
    },
  });
  return createUIMessageStreamResponse({
    stream: await new ResumableStreams({ store, userId }).record(id, stream),
  });
}

/** GET /api/chat/:id/stream: `useChat({ resume: true })` asks for it when a page is loaded again. */
export async function GET(
  request: Request,
  { params }: { params: Promise<{ id: string }> },
): Promise<Response> {
  const userId = userOf(request);
  if (userId === undefined) return refuse();
  const streams = new ResumableStreams({ store, userId });
  const stream = await streams.resume((await params).id);
  return stream === undefined
    ? new Response(null, { status: 204 })
    : createUIMessageStreamResponse({ stream });
}

// Next.js: these two are app/api/chat/route.ts and app/api/chat/[id]/stream/route.ts as they stand. Hono:
const app = new Hono();
app.post('/api/chat', ({ req }) => POST(req.raw));
app.get('/api/chat/:id/stream', ({ req }) =>
  GET(req.raw, { params: Promise.resolve({ id: req.param('id') }) }),
);

/** As the page reads an answer. */
async function answerOf(response: Response): Promise<UIMessage | undefined> {
  const chunks = (await response.text())
    .split('\n\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)));
  let message: UIMessage | undefined;
  for await (const state of readUIMessageStream({ stream: ReadableStream.from(chunks) as never }))
    message = state;
  return message;
}
const post = (id: string, messages: UIMessage[]) =>
  app.request('/api/chat', {
    method: 'POST',
    headers: { cookie: 'login=secret-of-alice' },
    body: JSON.stringify({ id, messages }),
  });

const asked: UIMessage = { id: 'q1', role: 'user', parts: [{ type: 'text', text: 'Which capital?' }] };
const first = await answerOf(await post('chat-1', [asked]));
console.log(first?.parts);

const chats = new UIMessageStore<UIMessage>({ store, userId: 'alice' });
const kept = await chats.load('chat-1');
const ask = async (id: string, text: string) =>
  answerOf(await post('chat-1', [...kept, { id, role: 'user', parts: [{ type: 'text', text }] }]));
const second = await ask('q2', 'Still?');
// As a second tab, which has not seen the second question and its answer.
await ask('q3', 'Sure?');
const all = await chats.load('chat-1');
const over = await app.request('/api/chat/chat-1/stream', { headers: { cookie: 'login=secret-of-alice' } });
const refused = await app.request('/api/chat/chat-1/stream', { headers: { 'x-user': 'alice' } });
console.log(second?.parts, over.status, all.length, 'messages kept');

const others = await new UIMessageStore({ store, userId: 'bob' }).load('chat-1');
if ([kept.length, all.length, over.status, refused.status, others.length].join() !== '2,6,204,401,0')
  throw new Error('The chat was not kept.');
if (!JSON.stringify(second?.parts).includes('And still Bern.')) throw new Error('The answer did not come.');
await agent.close();
rmSync(directory, { recursive: true, maxRetries: 20 });
