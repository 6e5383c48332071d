import { ContextOverflowError } from '@x/core';
import { type ErrorFacts, errorFacts } from './error-facts.js';

/** Codes that mean nothing else. */
const OVERFLOW_CODES: ReadonlySet<string> = new Set([
  'context_length_exceeded', // OpenAI, Azure, Groq, DeepSeek, Cerebras, llama-cpp-python
  'context_window_exceeded',
  'model_context_window_exceeded', // Anthropic
  'model_max_prompt_tokens_exceeded', // GitHub Copilot
  'exceed_context_size_error', // llama.cpp
  'request_too_large', // Anthropic
  'string_above_max_length', // OpenAI
]);

/** What the providers write, one pattern a wording. */
const OVERFLOW_TEXTS: readonly RegExp[] = [
  /prompt is too long/i, // Anthropic, also on Bedrock and Vertex; Fireworks
  /input length and `?max_tokens`? exceed context limit/i, // Anthropic
  /request (?:size )?exceeds (?:the maximum size|(?:the )?model context window)/i, // Anthropic, proxies
  /exceeds the context window/i, // OpenAI Responses, Azure
  /maximum context length/i, // OpenAI, Azure, Mistral, DeepSeek, OpenRouter, vLLM, Together, Bedrock (Llama)
  /reduce the length of the messages/i, // Groq, Cerebras
  /maximum prompt length is \d+/i, // xAI
  /input token count\b.{0,40}\b(?:exceeds|only supports)|input token count is \d+ but model only supports/i, // Gemini, Vertex
  /input is too long for requested model/i, // Bedrock
  /too many input tokens/i, // Bedrock (Titan)
  /number of input tokens exceeds maximum length/i, // Bedrock (Nova)
  /input tokens \d+ cannot exceed/i, // watsonx
  /too many tokens: .*prompt/i, // Cohere
  /`?inputs`? tokens \+ `?max_new_tokens`? must be/i, // Together, Hugging Face TGI
  /exceeds the available context size|context size has been exceeded/i, // llama.cpp, LM Studio
  /(?:input|prompt)\b.{0,30}\bexceed(?:s|ed)\b.{0,30}\bcontext (?:length|size|window)/i, // Ollama
  /(?:exceeded|over) (?:max|maximum) context (?:length|size|window)/i, // Ollama
  /greater than the context length|context length of only \d+|reached context length/i, // LM Studio
  /prompt token count of \d+ exceeds the limit/i, // GitHub Copilot
  /exceeded model token limit|supports only \d+k? context/i, // Moonshot
  /context window exceeds limit/i, // MiniMax
  /range of input length should be/i, // Qwen (DashScope)
  /prompt exceeds max(?:imum)? length/i, // GLM
  /exceed max message tokens/i, // Doubao
  /context[ _]length[ _]exceeded|(?:exceeds|surpassing) the (?:llm |model'?s? )?context window/i, // gateways
];

/** Limits that pass with time or money, however they speak of tokens. Retrying with less would hide them. */
const OTHER_LIMIT_TEXTS: readonly RegExp[] = [
  /tokens? per (?:second|min|minute|hour|day|month)|\btp[mdh]\b/i,
  /(?:token )?rate[ _-]?limit|too many requests|throttl|please wait before/i,
  /quota|resource[ _]?exhausted|insufficient (?:funds|balance|credits?)|credit balance|billing/i,
];
const OTHER_LIMIT_CODES = /rate_?limit|quota|throttl|resource_exhausted|insufficient_balance|billing/;

/**
 * Whether an error of whatever shape and depth means that the request did not fit the model's context window: by the
 * provider's code, by HTTP 413, or by the wording of the message. Rate limits, quotas and failed authentication are
 * never taken for it, also where they speak of too many tokens; a 401 that says that the context is too long is.
 */
export function isContextOverflow(error: unknown): boolean {
  if (ContextOverflowError.isInstance(error)) return true;
  return factsSayOverflow(errorFacts(error));
}

/** {@link isContextOverflow} for facts already gathered. */
export function factsSayOverflow({ statuses, codes, texts }: ErrorFacts): boolean {
  if (codes.some((code) => OVERFLOW_CODES.has(code))) return true;
  // The body itself is too large. Waiting does not help, not even where it is a limit per minute that says so.
  if (statuses.includes(413)) return true;
  if (statuses.includes(429) || codes.some((code) => OTHER_LIMIT_CODES.test(code))) return false;
  if (texts.some((text) => OTHER_LIMIT_TEXTS.some((pattern) => pattern.test(text)))) return false;
  return texts.some((text) => OVERFLOW_TEXTS.some((pattern) => pattern.test(text)));
}
