import { isObject, parsedJson } from '../lib/json.js';
import { ContextOverflowError, type ModelErrorKind } from './model-error.js';

/** Codes that always mean an overflow of the context window. */
const OVERFLOW_CODES: ReadonlySet<string> = new Set([
  'context_length_exceeded', // OpenAI, Azure, Groq, DeepSeek, Cerebras, llama-cpp-python
  'context_window_exceeded',
  'contextwindowexceedederror', // LiteLLM
  'model_context_window_exceeded', // Anthropic
  'model_max_prompt_tokens_exceeded', // GitHub Copilot
  'exceed_context_size_error', // llama.cpp
  'request_too_large', // Anthropic
  'contextoverflowerror', // LangChain, and other errors with this name
]);

/** Wordings of providers and gateways, one pattern each. For other wordings, the size of the request decides: see {@link mayBeOverflow}. */
const OVERFLOW_TEXTS: readonly RegExp[] = [
  /prompt is too long/i, // Anthropic, also on Bedrock and Vertex; Fireworks
  /input length and `?max_tokens`? exceed context limit/i, // Anthropic
  /request (?:size )?exceeds (?:the maximum size|(?:the )?model context window)/i, // Anthropic, proxies
  /exceeds the context window/i, // OpenAI Responses, Azure
  /'(?:messages|input)\b[^']*': string too long/i, // OpenAI
  /maximum context length/i, // OpenAI, Azure, Mistral, DeepSeek, OpenRouter, vLLM, Together, Bedrock (Llama)
  /reduce the length of the messages/i, // Groq, Cerebras
  /maximum prompt length is \d+/i, // xAI
  /input token count\b.{0,40}\b(?:exceeds|only supports)|input token count is \d+ but model only supports/i, // Gemini, Vertex
  /input is too long for requested model/i, // Bedrock
  /too many input tokens/i, // Bedrock (Titan)
  /number of input tokens exceeds maximum length/i, // Bedrock (Nova)
  /input tokens \d+ cannot exceed/i, // watsonx
  /too many tokens: .{0,200}prompt/i, // Cohere
  /`?inputs`? tokens \+ `?max_new_tokens`? must be/i, // Together, Hugging Face TGI
  /exceeds the available context size|context size has been exceeded/i, // llama.cpp, LM Studio
  /(?:input|prompt)\b.{0,30}\bexceed(?:s|ed)\b.{0,30}\bcontext (?:length|size|window)/i, // Ollama
  /(?:exceeded|over) (?:max|maximum) context (?:length|size|window)/i, // Ollama
  /greater than the context length|context length of only \d+|reached context length/i, // LM Studio
  /prompt token count of \d+ exceeds the limit/i, // GitHub Copilot
  /exceeded model token limit|supports only \d+k? context/i, // Moonshot
  /context window exceeds limit/i, // MiniMax
  /range of input length should be/i, // Qwen (DashScope)
  /token limit exceeded|exceeds the token limit/i, // AgentScope's models
  /prompt exceeds max(?:imum)? length/i, // GLM
  /exceed max message tokens/i, // Doubao
  /contextwindowexceedederror/i, // LiteLLM, which writes the class into the message
  /`?inputs`? must have less than \d+ tokens/i, // Hugging Face TGI
  /token count exceeds the maximum number of (?:input )?tokens/i, // Gemini, without figures
  /(?:input|prompt)\b.{0,40}\bis longer than the (?:model'?s? context|maximum model) length/i, // SGLang, Together, vLLM
  /input length \d+ exceeds the maximum length/i, // gateways
  /context[ _]length[ _]exceeded|(?:exceeds|surpassing) the (?:llm |model'?s? )?context window/i, // gateways
  /(?:上下文|输入|提示词?|prompt).{0,16}(?:长度|窗口|token).{0,16}(?:超过|超出|超限|过长)|(?:超过|超出).{0,16}(?:上下文|最大(?:输入)?长度)|prompt ?超长/i, // in Chinese: GLM, gateways
];

const SPAN_TEXTS = /per[ _-]?(?:second|min(?:ute)?|hour|day|month)\b|\b[rt]p[mdh]\b/i;
/** Matches a span of time. A limit per span of time is not the context window. */
const OTHER_SPANS =
  /\b(?:an?|each|every|this) (?:hour|day|week|month)\b|\b(?:hour|dai|week|month)ly\b|\btoday\b/i;
const RATE_TEXTS =
  /(?:token )?rate[ _-]?limit|tokens? per (?:second|min|hour|day|month)|\btp[mdh]\b|too many requests|throttl|please wait before|resource[ _]?(?:has been )?exhausted/i;
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
/**
 * Encrypted thinking or compactions that cannot be decrypted: OpenAI after a change of key or organization, Anthropic with an invalid
 * signature.
 */
const UNREADABLE_CODES =
  /^invalid_encrypted_content$|^compaction_(?:signature_invalid|content_mismatch|tool_changes_mismatch|block_\w+)$/;
const UNREADABLE_TEXTS =
  /encrypted content .{0,200}could not be (?:verified|decrypted)|invalid `?signature`? in `?thinking`?/is;
const PAYLOAD_CODES =
  /invalid_?(?:request|argument|parameter|prompt|data_?content)|unsupported_?functionality|validation_?(?:error|exception)|bad_?request|not_?found/;
/** Codes of clients that lost the connection, and of servers that are temporarily unavailable. */
const TRANSIENT_CODES =
  /^(?:econn(?:reset|refused|aborted)|epipe|e?timed?_?out(?:error)?|enotfound|eai_again|e(?:net|host)unreach|und_err_\w+)$|overloaded|unavailable|server_?(?:error|exception)|not_?ready|deadline_exceeded|^internal$/;
const TRANSIENT_TEXTS =
  /overloaded|(?:temporarily|service|currently) unavailable|socket hang up|fetch failed|timed out|connection (?:reset|refused|closed|error)/i;
/** Matches the limit per minute and the size of the request. If the size exceeds the limit, a retry cannot succeed. */
const LARGER_THAN_ANY = /\bLimit (\d+),? Requested (\d+)/i;
/** HTTP statuses with which providers reject a request that is too large. */
const REFUSING_STATUSES: ReadonlySet<number> = new Set([400, 413, 422]);
/** HTTP statuses that mean a wrong address or model name. The content of the request does not matter then. */
const ADDRESS_STATUSES: ReadonlySet<number> = new Set([404, 405]);
const PAYLOAD_STATUSES: ReadonlySet<number> = new Set([400, 404, 405, 409, 415, 422]);

/**
 * Classifies an error of any shape and depth by the provider's code, the HTTP status or the wording of the message, over the whole chain of
 * causes. Rate limits and quotas are not classified as an overflow, even if they mention tokens. Exceptions: HTTP 413, and a request that
 * alone is larger than the limit. A 401, 402 or 403 is an overflow only if it has an overflow code.
 */
export function classifyModelError(error: unknown): ModelErrorKind {
  return classifyFacts(modelErrorFacts(error), ContextOverflowError.isInstance(error));
}

/** Tests whether {@link classifyModelError} returns `overflow`: a shorter request may succeed. */
export function isContextOverflow(error: unknown): boolean {
  return classifyModelError(error) === 'overflow';
}

/**
 * Tests whether a provider may have rejected a request for its size with unknown wording: a 400, 413 or 422 that is not about the content.
 * Use it together with the size of the request.
 */
export function mayBeOverflow(error: unknown): boolean {
  const facts = modelErrorFacts(error);
  const kind = classifyFacts(facts, false);
  if (kind !== 'payload' && kind !== 'other') return false;
  return facts.statuses.some((status) => REFUSING_STATUSES.has(status)) && !isAboutContent(facts);
}

/**
 * Tests whether a rejected request may succeed without the thinking and compactions that only its provider can read. Other providers with
 * the same protocol do not know these, and reject them with their own wording.
 */
export function mayRefuseItems(error: unknown): boolean {
  const kind = classifyModelError(error);
  return ['unreadable', 'other', 'payload'].includes(kind) || isRefused(error);
}

/** Tests whether a provider rejected a request for its content and not for its length. Another request may succeed. */
export function isRefused(error: unknown): boolean {
  const kind = classifyModelError(error);
  const { codes, statuses } = modelErrorFacts(error);
  // If Anthropic rejects a request within a stream, the AI SDK reports a 500.
  if (kind === 'transient') return codes.some((code) => PAYLOAD_CODES.test(code));
  return kind === 'payload' && !statuses.some((status) => ADDRESS_STATUSES.has(status));
}

function isAboutContent({ codes, texts }: ModelErrorFacts): boolean {
  return codes.some((code) => CONTENT_CODES.test(code)) || texts.some((text) => CONTENT_TEXTS.test(text));
}

function isLargerThanAny(text: string): boolean {
  const [, limit, requested] = LARGER_THAN_ANY.exec(text) ?? [];
  return Number(requested) > Number(limit);
}

function classifyFacts(facts: ModelErrorFacts, isOverflow: boolean): ModelErrorKind {
  const { statuses, codes, texts, isRetryable } = facts;
  const says = (pattern: RegExp) => texts.some((text) => pattern.test(text));
  const isCoded = (pattern: RegExp) => codes.some((code) => pattern.test(code));
  const has = (...wanted: number[]) => wanted.some((status) => statuses.includes(status));

  if (isOverflow || codes.some((code) => OVERFLOW_CODES.has(code)) || has(413)) return 'overflow';
  if (isCoded(UNREADABLE_CODES) || says(UNREADABLE_TEXTS)) return 'unreadable';
  if (has(402)) return 'quota';
  if (texts.some(isLargerThanAny)) return 'overflow';
  // Some providers also call a rate limit a quota.
  if (isCoded(QUOTA_CODES) || says(QUOTA_TEXTS)) return says(SPAN_TEXTS) ? 'rate_limit' : 'quota';
  if (has(429) || isCoded(RATE_CODES) || says(RATE_TEXTS)) return 'rate_limit';
  if (!has(401, 403) && OVERFLOW_TEXTS.some(says))
    return says(SPAN_TEXTS) || says(OTHER_SPANS) ? 'rate_limit' : 'overflow';
  if (isAboutContent(facts)) return 'payload';
  if (has(401, 403) || isCoded(AUTH_CODES) || says(AUTH_TEXTS)) return 'auth';
  if (has(408, 425) || statuses.some((status) => status >= 500)) return 'transient';
  if (statuses.some((status) => PAYLOAD_STATUSES.has(status)) || isCoded(PAYLOAD_CODES)) return 'payload';
  return isRetryable || isCoded(TRANSIENT_CODES) || says(TRANSIENT_TEXTS) ? 'transient' : 'other';
}

/** The facts of an error, its causes, and the provider's answer inside it. */
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

/** Fields that contain nested errors or the provider's answer. */
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
  'details', // Anthropic
  '$metadata', // AWS SDK
];
const TEXTS = ['message', 'msg', 'detail', 'error', 'error_description', 'raw', 'responseBody'];
const CODES = ['code', 'type', 'status', 'name', '__type', 'error_code', 'lc_error_code'];
const STATUSES = ['statusCode', 'status', 'code', 'httpStatusCode'];
const MAX_DEPTH = 16;
const MAX_TEXT = 4_000;

/**
 * Reads an error of any shape, its causes, and the JSON inside its messages. Stops at cyclic causes. Reads only fields for messages and
 * codes: some servers return the rejected request, and a conversation about context windows must not be classified as an overflow.
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
    if (isObject(fields.responseHeaders))
      headers = { ...(fields.responseHeaders as typeof headers), ...headers };
    for (const key of new Set([...TEXTS, ...NESTED])) visit(fields[key], depth + 1);
  }

  function visitText(text: string, depth: number): void {
    const json = /^\s*[[{]/.test(text) ? parsedJson(text) : undefined;
    if (json === undefined) texts.push(text.slice(0, MAX_TEXT));
    else visit(json, depth + 1);
  }

  visit(error, 0);
  return { statuses, codes, texts, isRetryable, headers };
}
