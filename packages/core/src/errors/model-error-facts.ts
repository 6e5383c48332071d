/** What an error says about itself, gathered from it, its causes and the provider's answer inside it. */
export interface ModelErrorFacts {
  /** HTTP statuses. */
  readonly statuses: readonly number[];
  /** Codes and types, such as `context_length_exceeded`, in lower case. */
  readonly codes: readonly string[];
  /** Messages. */
  readonly texts: readonly string[];
  /** The first `isRetryable` or `retryable` found. */
  readonly isRetryable: boolean | undefined;
  readonly headers: { readonly [name: string]: string };
}

/** Where errors nest others, and where they hold the provider's answer. */
const NESTED = [
  'cause',
  'errors',
  'lastError',
  'data',
  'responseBody',
  'error',
  'metadata',
  'raw',
  'detail',
  'response',
  'body',
  '$metadata', // AWS SDK
];
const TEXTS = ['message', 'msg', 'detail', 'error', 'error_description', 'raw', 'responseBody'];
const CODES = ['code', 'type', 'status', 'name', '__type'];
const STATUSES = ['statusCode', 'status', 'code', 'httpStatusCode'];
const MAX_DEPTH = 16;
const MAX_TEXT = 4_000;

/**
 * Reads an error of any shape, through its causes and whatever JSON is inside its messages. Cyclic causes end. Only the fields that hold messages and codes are read: some servers answer with the
 * request that they refuse, and a conversation about context windows must not be taken for an overflow.
 */
export function modelErrorFacts(error: unknown): ModelErrorFacts {
  const statuses: number[] = [];
  const codes: string[] = [];
  const texts: string[] = [];
  let isRetryable: boolean | undefined;
  let headers: { readonly [name: string]: string } = {};
  const seen = new Set<unknown>();

  function visit(value: unknown, depth: number): void {
    if (depth > MAX_DEPTH || seen.has(value)) return;
    if (typeof value === 'string') {
      visitText(value, depth);
      return;
    }
    if (typeof value !== 'object' || value === null) return;
    seen.add(value);
    if (Array.isArray(value)) {
      for (const item of value) visit(item, depth + 1);
      return;
    }
    const fields = value as { readonly [key: string]: unknown };
    for (const key of STATUSES) {
      const status = Number(fields[key] ?? Number.NaN);
      if (Number.isInteger(status) && status >= 400 && status <= 599) statuses.push(status);
    }
    for (const key of CODES) {
      const code = fields[key];
      if (typeof code === 'string') codes.push(code.toLowerCase());
    }
    for (const retryable of [fields.isRetryable, fields.retryable]) {
      if (typeof retryable === 'boolean') isRetryable ??= retryable;
    }
    if (isHeaders(fields.responseHeaders)) headers = { ...fields.responseHeaders, ...headers };
    for (const key of new Set([...TEXTS, ...NESTED])) visit(fields[key], depth + 1);
  }

  function visitText(text: string, depth: number): void {
    const json = parseObject(text);
    if (json === undefined) texts.push(text.slice(0, MAX_TEXT));
    else visit(json, depth + 1);
  }

  visit(error, 0);
  return { statuses, codes, texts, isRetryable, headers };
}

function parseObject(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}

function isHeaders(value: unknown): value is { readonly [name: string]: string } {
  return typeof value === 'object' && value !== null;
}
