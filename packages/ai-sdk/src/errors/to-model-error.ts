import { ContextOverflowError, isContextOverflow, ModelError, XError } from '@x/core';
import { overflowFigures } from '@x/core/internal';
import { type ModelErrorFacts, modelErrorFacts } from '@x/core/messages';

/** Error codes of failed connections and interrupted answers. `NETWORK_TEXTS` matches their messages. */
const NETWORK_CODES =
  /^(?:econn\w+|etimedout|epipe|enotfound|enetunreach|ehostunreach|eai_again|und_err_\w+|timeouterror)$/;
const NETWORK_TEXTS =
  /fetch failed|failed to fetch|^terminated$|socket hang up|connection (?:error|closed|reset|lost)|ended without a finish reason|other side closed/i;
/** Error codes of transient failures, for errors without a status, as in the middle of a stream. `LASTING_CODES` are never retried. */
const PASSING_CODES = /overloaded|rate_limit|server_error|api_error|internal|unavailable|timeout/;
const LASTING_CODES = /insufficient_quota|billing|authentication|permission/;

/** Error codes of an answer that could not be parsed, for example a proxy's web page, truncated JSON, or invalid compression. */
const BROKEN_CODES = /^(?:ai_(?:jsonparse|typevalidation|invalidresponsedata|emptyresponsebody)error|z_\w+)$/;

/**
 * Returns the error to throw for a failed call: the signal's reason if the call was aborted, an `XError` unchanged, and otherwise a
 * `ContextOverflowError` or `ModelError` whose `cause` is the given error.
 */
export function toModelError(
  error: unknown,
  details: {
    readonly modelId: string;
    readonly contextWindow: number | undefined;
    readonly signal: AbortSignal | undefined;
  },
): unknown {
  const { modelId, contextWindow, signal } = details;
  if (signal?.aborted) return signal.reason;
  if (XError.isInstance(error)) return error;
  const facts = modelErrorFacts(error);
  const message = facts.texts[0] ?? 'The provider gave no reason.';
  if (isContextOverflow(error)) {
    return new ContextOverflowError(
      `The request does not fit the context window of ${modelId}: ${message} Compact the conversation or use a larger window.`,
      { cause: error, modelId, contextWindow, ...overflowFigures(error) },
    );
  }
  const [status] = facts.statuses;
  const address = addressOf(error);
  const where = `${status === undefined ? '' : ` with ${status}`}${address === undefined ? '' : ` at ${address}`}`;
  const remedy = remedyFor(facts);
  const isBroken = isBrokenAnswer(error, facts);
  const end = remedy === '' || /[.!?]\s*$/.test(message) ? '' : '.';
  return new ModelError(`The call of ${modelId} failed${where}: ${message}${end}${remedy}`, {
    modelId,
    retryable: isBroken || isRetryable(facts),
    ...(isBroken ? { maxRetries: 1 } : {}),
    status,
    retryAfterMs: retryAfterMs(facts.headers) ?? pauseIn(facts.texts),
    cause: error,
  });
}

/** Creates the error for a stream that ended before its answer was complete. */
export function cutOff(modelId: string): ModelError {
  return new ModelError(`The stream of ${modelId} ended before the answer was complete.`, {
    modelId,
    retryable: true,
  });
}

const WEB_PAGE = 'The server answered with a web page (text/html). Check the base URL.';

/**
 * Recognizes a web page instead of a stream: a proxy's login, or an address without its `/v1`. Returns `undefined` for anything
 * else.
 */
export function webPage(modelId: string, headers: HeaderFields | undefined): ModelError | undefined {
  return isWebPage(headers)
    ? new ModelError(`The call of ${modelId} failed: ${WEB_PAGE}`, {
        modelId,
        retryable: true,
        maxRetries: 1,
      })
    : undefined;
}

type HeaderFields = { readonly [name: string]: string };

function isWebPage(headers: HeaderFields = {}): boolean {
  return /^text\/html\b/i.test(headers['content-type'] ?? '');
}

function isBrokenAnswer(error: unknown, { statuses, codes }: ModelErrorFacts): boolean {
  const { statusCode } = Object(error ?? {}) as { readonly statusCode?: unknown };
  return statuses.length === 0 && (statusCode === 200 || codes.some((code) => BROKEN_CODES.test(code)));
}

/** Returns the URL of an `APICallError` of the AI SDK. Without its query, which may contain secrets. */
function addressOf(error: unknown): string | undefined {
  const { url } = Object(error ?? {}) as { readonly url?: unknown };
  if (typeof url !== 'string' || !URL.canParse(url)) return undefined;
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

/** Returns what the provider's message lacks: which API key to check, that another server answered, or that the connection failed. */
function remedyFor({ statuses: [status], codes, texts, headers }: ModelErrorFacts): string {
  if (status === 401) {
    return ' Check the API key in OPENAI_API_KEY, ANTHROPIC_API_KEY, or the environment variable of your provider.';
  }
  if (isWebPage(headers)) return ` ${WEB_PAGE}`;
  const broke =
    codes.some((code) => NETWORK_CODES.test(code)) || texts.some((text) => NETWORK_TEXTS.test(text));
  return broke ? ' The connection to the provider failed or was interrupted.' : '';
}

function isRetryable({ isRetryable, statuses, codes, texts }: ModelErrorFacts): boolean {
  // The SDK would retry every 429, even if the quota is exhausted.
  if (codes.some((code) => LASTING_CODES.test(code))) return false;
  if (isRetryable !== undefined) return isRetryable;
  const [status] = statuses;
  if (status !== undefined) return status === 408 || status === 409 || status === 429 || status >= 500;
  return (
    codes.some((code) => NETWORK_CODES.test(code) || PASSING_CODES.test(code)) ||
    texts.some((text) => NETWORK_TEXTS.test(text))
  );
}

/**
 * Returns the pause before a retry in milliseconds, from `retry-after-ms` or `retry-after` (seconds, or a date). `undefined` without one.
 *
 * @param now The current time in milliseconds since 1970.
 */
export function retryAfterMs(headers: HeaderFields, now: number = Date.now()): number | undefined {
  const milliseconds = number(headers['retry-after-ms']);
  if (milliseconds !== undefined) return milliseconds;
  const value = headers['retry-after'];
  const seconds = number(value);
  if (seconds !== undefined) return seconds * 1_000;
  const date = Date.parse(value ?? '');
  // A date in the past means that the clocks differ.
  return date > now ? date - now : undefined;
}

/** Returns the pause in milliseconds from a text such as "Please try again in 7m12.3s". Gemini and some gateways send no header. */
export function pauseIn(texts: readonly string[]): number | undefined {
  const [asked = ''] = PAUSE.exec(texts.join('\n')) ?? [];
  const parts = [...asked.matchAll(/(\d{1,9}(?:\.\d{1,9})?) ?(ms|milli|[dhms])/g)];
  if (parts.length === 0) return undefined;
  return parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (UNIT_MS[unit] ?? 1), 0);
}

const PAUSE = /(?:try again|retry) (?:in|after) (?:\d{1,9}(?:\.\d{1,9})? ?[a-z]{1,12},? ?(?:and )?){1,5}/i;
/** Milliseconds per unit. Units that are not listed are milliseconds. */
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function number(text: string | undefined): number | undefined {
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) && value >= 0 ? value : undefined;
}
