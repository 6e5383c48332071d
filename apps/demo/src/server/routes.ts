import {
  InvalidInputError,
  jsonValueSchema,
  PERMISSION_MODES,
  parsedJson,
  parseWith,
  WorkspaceError,
} from '@x/core';
import { type Context, Hono } from 'hono';
import * as z from 'zod';
import type { Backend } from './backend.js';
import { eventStream } from './event-stream.js';

const sessionId = z.string().min(1).max(200);
const id = z.string().min(1).max(500);
const messageBody = z.strictObject({ text: z.string().trim().min(1).max(200_000) });
const compactBody = z.strictObject({ instructions: z.string().trim().min(1).max(4_000).optional() });
const decisionBody = z.strictObject({
  decisions: z.record(
    id,
    z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('approve'), always: z.boolean().optional() }),
      z.strictObject({ type: z.literal('edit'), input: jsonValueSchema }),
      z.strictObject({ type: z.literal('deny'), reason: z.string().trim().max(2_000).optional() }),
    ]),
  ),
});
const path = z.string().min(1).max(4_096);
const memoryFileQuery = z.strictObject({ path });
const searchQuery = z.strictObject({ query: z.string().trim().min(1).max(1_000) });
const requestQuery = z.strictObject({ step: z.coerce.number().int().min(1).optional() });
const permissionsBody = z.strictObject({ mode: z.enum(PERMISSION_MODES) });
const planBody = z.strictObject({ active: z.boolean() });
const fileQuery = z.strictObject({
  /** Whether a file that is not there is an empty answer: browsers note every 404 as an error of the page. */
  optional: z.literal('yes').optional(),
  path,
  offset: z.coerce.number().int().min(0).default(0),
  length: z.coerce.number().int().min(1).max(256_000).default(64_000),
});
/** Sessions that one stream may follow: the tabs of a browser. */
const MAX_FOLLOWED = 100;
const eventsQuery = z.strictObject({
  after: z
    .string()
    .max(64_000)
    .transform(parsedJson)
    .pipe(z.record(sessionId, z.string().max(200), 'must be JSON: the last event by session'))
    .refine((after) => Object.keys(after).length <= MAX_FOLLOWED, {
      message: `names more than ${MAX_FOLLOWED} sessions`,
    }),
});

interface RouteOptions {
  readonly heartbeatMs: number;
  /** Aborted when the server closes, so that event streams end. */
  readonly closing: AbortSignal;
}

/** Makes the routes of the page: JSON under `/api`. */
export function apiRoutes(backend: Backend, options: RouteOptions): Hono {
  const api = new Hono();
  api.get('/info', async (context) => context.json(await backend.info()));
  api.get('/sessions', async (context) => context.json(await backend.sessions()));

  api.get('/sessions/:id', async (context) => context.json(await backend.transcript(sessionOf(context))));
  api.delete('/sessions/:id', async (context) => {
    await backend.remove(sessionOf(context));
    return context.body(null, 204);
  });

  api.get('/events', (context) => {
    const { after } = parseWith(eventsQuery, context.req.query(), 'query');
    return eventStream(backend, { ...options, after });
  });

  api.post('/sessions/:id/messages', async (context) => {
    const { text } = await bodyOf(context, messageBody);
    await backend.send(sessionOf(context), text);
    return context.body(null, 202);
  });

  api.get('/sessions/:id/messages/:message', async (context) => {
    const messageId = parseWith(id, context.req.param('message'), 'message id');
    return context.json(await backend.expand(sessionOf(context), messageId));
  });

  api.post('/sessions/:id/stop', async (context) => {
    await backend.stop(sessionOf(context));
    return context.body(null, 202);
  });

  api.post('/sessions/:id/compactions', async (context) => {
    const { instructions } = await bodyOf(context, compactBody);
    await backend.compact(sessionOf(context), instructions);
    return context.body(null, 202);
  });

  api.delete('/sessions/:id/compactions/:compaction', async (context) => {
    const compactionId = parseWith(id, context.req.param('compaction'), 'compaction id');
    await backend.undo(sessionOf(context), compactionId);
    return context.body(null, 204);
  });

  api.post('/sessions/:id/decisions', async (context) => {
    const { decisions } = await bodyOf(context, decisionBody);
    await backend.decide(sessionOf(context), decisions);
    return context.body(null, 202);
  });

  api.get('/sessions/:id/request', async (context) => {
    const { step } = parseWith(requestQuery, context.req.query(), 'query');
    return context.json(await backend.request(sessionOf(context), step));
  });

  api.get('/memory', async (context) => context.json(await backend.memory.overview()));

  api.get('/memory/file', async (context) => {
    const { path } = parseWith(memoryFileQuery, context.req.query(), 'query');
    return context.json({ path, text: await backend.memory.read(path) });
  });

  api.get('/memory/search', async (context) => {
    const { query } = parseWith(searchQuery, context.req.query(), 'query');
    return context.json(await backend.memory.search(query));
  });

  api.put('/sessions/:id/permissions', async (context) => {
    const { mode } = await bodyOf(context, permissionsBody);
    await backend.setPermissionMode(sessionOf(context), mode);
    return context.body(null, 204);
  });

  api.put('/sessions/:id/plan', async (context) => {
    const { active } = await bodyOf(context, planBody);
    await backend.setPlanMode(sessionOf(context), active);
    return context.body(null, 204);
  });

  api.get('/files', async (context) => context.json(await backend.files()));

  api.get('/file', async (context) => {
    const { path, optional, ...range } = parseWith(fileQuery, context.req.query(), 'query');
    try {
      return context.json(await backend.readFile(path, range));
    } catch (error) {
      if (optional && WorkspaceError.isInstance(error) && error.code === 'not_found')
        return context.body(null, 204);
      throw error;
    }
  });

  return api;
}

function sessionOf(context: Context): string {
  return parseWith(sessionId, context.req.param('id'), 'session id');
}

/** @throws {InvalidInputError} when the body is no JSON, or not what it must be. */
async function bodyOf<Schema extends z.ZodType>(context: Context, schema: Schema): Promise<z.output<Schema>> {
  // Forms of other web sites cannot send this type without asking first.
  if (!/^application\/json\s*(?:;|$)/i.test(context.req.header('content-type') ?? '')) {
    throw new InvalidInputError('request', [{ path: '', message: 'Content-Type must be application/json' }]);
  }
  const body = parsedJson(await context.req.text());
  if (body === undefined) {
    throw new InvalidInputError('request', [{ path: '', message: 'the body is no JSON' }]);
  }
  return parseWith(schema, body, 'request');
}
