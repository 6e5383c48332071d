import { ContextOverflowError } from './context-overflow-error.js';
import { type ModelErrorFacts, modelErrorFacts } from './model-error-facts.js';
import { OVERFLOW_CODES, OVERFLOW_TEXTS } from './overflow-wordings.js';

/**
 * Why a provider refused a request. `overflow`: it does not fit the context window. `rate_limit`: too much in a span of
 * time. `quota`: no money or allowance is left. `auth`: key or permission. `payload`: the request is refused as it is,
 * for anything but its length: a parameter, a model's name, its content. `transient`: an outage, an overload or a lost
 * connection, so that the same request may succeed later. `other`: anything else.
 */
export type ModelErrorKind = 'overflow' | 'rate_limit' | 'quota' | 'auth' | 'payload' | 'transient' | 'other';

const SPAN_TEXTS = /per[ _-]?(?:second|min(?:ute)?|hour|day|month)\b|\btp[mdh]\b|\brp[mdh]\b/i;
const TOKENS_IN_SPAN = /tokens? per (?:second|min|minute|hour|day|month)|\btp[mdh]\b/i;
const RATE_TEXTS =
  /(?:token )?rate[ _-]?limit|too many requests|throttl|please wait before|resource[ _]?(?:has been )?exhausted/i;
const RATE_CODES = /rate_?limit|throttl|resource_exhausted|too_?many_?requests/;
const QUOTA_TEXTS =
  /quota|insufficient (?:funds|balance|credits?)|credit balance|billing|requires more credits/i;
const QUOTA_CODES = /quota|insufficient_balance|billing|arrearage|payment_required/;
const AUTH_TEXTS =
  /(?:invalid|incorrect|missing|no) (?:api|auth)[ _-]?(?:key|token|credentials)|unauthori[sz]ed|not authorized/i;
const AUTH_CODES =
  /invalid_?api_?key|authentication|unauthenticated|unauthori[sz]ed|permission|access_?denied|forbidden|unrecognizedclient|expiredtoken/;
const CONTENT_TEXTS = /content (?:management )?(?:policy|filter)|inappropriate content|(?:was|been) flagged/i;
const CONTENT_CODES = /content_?(?:filter|policy)|responsibleai|data_?inspection/;
const PAYLOAD_CODES =
  /invalid_?(?:request|argument|parameter)|validation_?(?:error|exception)|bad_?request|not_?found/;
/** Of clients that lost the connection, and of servers that could not answer now. */
const TRANSIENT_CODES =
  /^(?:econn(?:reset|refused|aborted)|epipe|e?timed?_?out(?:error)?|enotfound|eai_again|e(?:net|host)unreach|und_err_\w+)$|overloaded|unavailable|server_?(?:error|exception)|not_?ready|deadline_exceeded|^internal$/;
const TRANSIENT_TEXTS =
  /overloaded|(?:temporarily|service|currently) unavailable|socket hang up|fetch failed|timed out|connection (?:reset|refused|closed|error)/i;
const PAYLOAD_STATUSES: ReadonlySet<number> = new Set([400, 404, 405, 409, 415, 422]);

/**
 * What an error of whatever shape and depth means: by the provider's code, by the HTTP status, or by the wording of the
 * message, over the whole chain of causes. Limits per minute and quotas are never taken for an overflow, however they
 * speak of tokens, except with HTTP 413: that body is too large at any time. A 401 that says that the conversation is
 * too long is an overflow.
 */
export function classifyModelError(error: unknown): ModelErrorKind {
  return classifyFacts(modelErrorFacts(error), ContextOverflowError.isInstance(error));
}

/** Whether {@link classifyModelError} finds an `overflow`, so that the same request with less in it may succeed. */
export function isContextOverflow(error: unknown): boolean {
  return classifyModelError(error) === 'overflow';
}

function classifyFacts(
  { statuses, codes, texts, isRetryable }: ModelErrorFacts,
  isOverflow: boolean,
): ModelErrorKind {
  const says = (pattern: RegExp) => texts.some((text) => pattern.test(text));
  const isCoded = (pattern: RegExp) => codes.some((code) => pattern.test(code));
  const has = (...wanted: number[]) => wanted.some((status) => statuses.includes(status));

  if (isOverflow || codes.some((code) => OVERFLOW_CODES.has(code)) || has(413)) return 'overflow';
  if (has(402)) return 'quota';
  // Some providers call what they allow per minute a quota too.
  if (isCoded(QUOTA_CODES) || says(QUOTA_TEXTS)) return says(SPAN_TEXTS) ? 'rate_limit' : 'quota';
  if (has(429) || isCoded(RATE_CODES) || says(RATE_TEXTS) || says(TOKENS_IN_SPAN)) return 'rate_limit';
  if (OVERFLOW_TEXTS.some(says)) return 'overflow';
  if (isCoded(CONTENT_CODES) || says(CONTENT_TEXTS)) return 'payload';
  if (has(401, 403) || isCoded(AUTH_CODES) || says(AUTH_TEXTS)) return 'auth';
  if (has(408, 425) || statuses.some((status) => status >= 500)) return 'transient';
  if (statuses.some((status) => PAYLOAD_STATUSES.has(status)) || isCoded(PAYLOAD_CODES)) return 'payload';
  return isRetryable || isCoded(TRANSIENT_CODES) || says(TRANSIENT_TEXTS) ? 'transient' : 'other';
}
