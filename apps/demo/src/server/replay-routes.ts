import { createHash } from 'node:crypto';
import { InvalidInputError } from '@x/core';
import { fromClient, parseWith } from '@x/core/internal';
import { compareStrategies, importConversation, parsePrices, replayHtml } from '@x/replay';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import * as z from 'zod';
import { strategies } from '../../../cli/src/commands/replay/strategies.js';
import { apiError } from './errors.js';

const MAX_LOG_BYTES = 32 * 1_048_576;

const price = z.coerce.number().min(0).max(10_000);
const query = z.strictObject({
  /** Half of the log's largest request where none is given. */
  window: z.coerce.number().int().min(2_000).max(10_000_000).optional(),
  input: price.default(3),
  output: price.default(15),
  cachedInput: price.optional(),
  cacheWrite: price.optional(),
});

/** `POST /replay`: a page on what each strategy would have kept, sent and cost on a log that the user has. Nothing is stored. */
export function replayRoutes(): Hono {
  const api = new Hono();
  const limit = bodyLimit({
    maxSize: MAX_LOG_BYTES,
    onError: (context) =>
      apiError(context, 413, 'too_large', 'A log may have 32 MiB; try x replay in the terminal.'),
  });
  api.post('/replay', limit, async (context) => {
    // A type that forms of other web sites cannot send.
    if (context.req.header('content-type') !== 'application/octet-stream') {
      const message = 'Content-Type must be application/octet-stream';
      throw new InvalidInputError('request', [{ path: '', message }], { isFromClient: true });
    }
    const { window, ...prices } = fromClient(() => parseWith(query, context.req.query(), 'query'));
    const conversation = importConversation(await context.req.text());
    const comparison = await compareStrategies(conversation, strategies, {
      window,
      prices: parsePrices(prices),
      // Who has left the page waits for nothing.
      signal: context.req.raw.signal,
    });
    return context.html(
      replayHtml([comparison], {
        title: 'What each would have kept and cost',
        currency: 'USD',
      }),
    );
  });
  return api;
}

/** The style sheet of these pages, as a content security policy names it. */
export const reportStyle: string = `'sha256-${createHash('sha256')
  .update(/<style>(.*?)<\/style>/s.exec(replayHtml([]))?.[1] ?? '')
  .digest('base64')}'`;
