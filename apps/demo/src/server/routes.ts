import { InvalidInputError } from '@x/core';
import { fromClient, parsedJson, parseWith } from '@x/core/internal';
import { type SentEvent, serverSentEvents } from '@x/harness';
import { type Context, Hono } from 'hono';
import * as z from 'zod';
import type { Backend } from '../backend/backend.js';
import { forPage } from './errors.js';

/** The backend methods that the routes use. */
export type PageBackend = Omit<Backend, 'resumeAll'>;

const id = z.string().min(1).max(200);
const messageBody = z.strictObject({ text: z.string().trim().min(1).max(200_000) });
const compactBody = z.strictObject({
  instructions: z.string().trim().min(1).max(4_000).optional(),
  upTo: id.optional(),
});
const pinBody = z.strictObject({ messageId: id });
const unpinBody = z.strictObject({ pin: id });
const decisionBody = z.strictObject({
  decisions: z.record(
    id,
    z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('approve'), always: z.boolean().optional() }),
      z.strictObject({ type: z.literal('deny'), reason: z.string().trim().max(2_000).optional() }),
    ]),
  ),
});
const sessionsQuery = z.strictObject({ query: z.string().trim().max(1_000).default('') });
const requestQuery = z.strictObject({ place: z.coerce.number().int().min(1).optional() });
const fileQuery = z.strictObject({ path: z.string().min(1).max(4_096) });

interface RouteOptions {
  readonly heartbeatMs: number;
  /** Aborts when the server closes, which ends event streams. */
  readonly closing: AbortSignal;
}

/** Returns the routes of the page: JSON under `/api`. */
export function apiRoutes(backend: PageBackend, { heartbeatMs, closing }: RouteOptions): Hono {
  const api = new Hono();

  /** Adds a route that changes a session, and responds before the agent is done. */
  const change = <Schema extends z.ZodType>(
    method: 'POST' | 'DELETE',
    path: string,
    schema: Schema,
    run: (sessionId: string, body: z.output<Schema>) => Promise<unknown>,
  ) =>
    api.on(method, `/sessions/:id${path}`, async (context) => {
      const body = method === 'DELETE' ? {} : await bodyOf(context);
      const answer = await run(
        sessionOf(context),
        fromClient(() => parseWith(schema, body, 'request')),
      );
      return Array.isArray(answer) && answer[0] ? context.json(answer) : context.body(null, 204);
    });
  const nothing = z.object({});
  change('DELETE', '', nothing, (session) => backend.remove(session));
  change('POST', '/messages', messageBody, (session, { text }) => backend.send(session, text));
  change('POST', '/stop', nothing, (session) => backend.stop(session));
  change('POST', '/compactions', compactBody, (session, options) => backend.compact(session, options));
  change('POST', '/pins', pinBody, (session, { messageId }) => backend.pin(session, messageId));
  change('POST', '/unpin', unpinBody, (session, { pin }) => backend.unpin(session, pin));
  change('DELETE', '/compactions/last', nothing, (session) => backend.undo(session));
  change('POST', '/decisions', decisionBody, (session, { decisions }) => backend.decide(session, decisions));

  api.get('/info', async (context) => context.json(await backend.info()));
  api.get('/sessions', async (context) => {
    const { query } = fromClient(() => parseWith(sessionsQuery, context.req.query(), 'query'));
    return context.json(await backend.sessions(query.split(/\s+/).filter(Boolean)));
  });
  api.get('/sessions/:id', async (context) => context.json(await backend.state(sessionOf(context))));
  api.get('/sessions/:id/events', async (context) => {
    const session = sessionOf(context);
    // Checked here, so that an error is a JSON response: a stream cannot change its status.
    await backend.state(session);
    const ended = AbortSignal.any([context.req.raw.signal, closing]);
    async function* sent(): AsyncGenerator<SentEvent> {
      for await (const data of backend.events(session, ended)) yield { data };
    }
    return serverSentEvents(sent(), { heartbeatMs, onError: (error) => forPage(error).message });
  });
  api.get('/sessions/:id/request', async (context) => {
    const { place } = fromClient(() => parseWith(requestQuery, context.req.query(), 'query'));
    return context.json(await backend.request(sessionOf(context), place));
  });
  api.get('/sessions/:id/receipt', async (context) =>
    context.json((await backend.receipt(sessionOf(context))) ?? null),
  );
  api.get('/files', async (context) => context.json(await backend.files()));
  api.get('/file', async (context) => {
    const { path } = fromClient(() => parseWith(fileQuery, context.req.query(), 'query'));
    return context.json(await backend.readFile(path));
  });
  return api;
}

function sessionOf(context: Context): string {
  return fromClient(() => parseWith(id, context.req.param('id'), 'session id'));
}

/** @throws {InvalidInputError} when the body is not JSON. */
async function bodyOf(context: Context): Promise<unknown> {
  // Forms of other web sites cannot send this content type without a preflight request.
  const isJson = /^application\/json\s*(?:;|$)/i.test(context.req.header('content-type') ?? '');
  if (!isJson) throw invalidRequest('Content-Type must be application/json');
  const body = parsedJson(await context.req.text());
  if (body === undefined) throw invalidRequest('the body is not valid JSON');
  return body;
}

function invalidRequest(message: string): InvalidInputError {
  return new InvalidInputError('request', [{ path: '', message }], { isFromClient: true });
}
