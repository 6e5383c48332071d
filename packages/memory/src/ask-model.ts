import {
  type AgentEventBody,
  assistantMessage,
  ContextOverflowError,
  estimateCounter,
  type Model,
  textOf,
  toolUsesOf,
  userMessage,
  withRetries,
} from '@x/core';
import {
  errorText,
  escapeTags,
  isRefused,
  soundUsage,
  unlessAborted,
  withoutThoughts,
} from '@x/core/internal';

/** Timeout of one model call. `close()` of an agent waits for it. */
const TIMEOUT_MS = 120_000;
/** Retries after a rate limit or another transient failure. */
const RETRIES = { maxRetries: 2, retryDelayMs: 500, retryAfterMs: 30_000 };
/** Maximum number of unusable answers about the same material. */
const MOST_REFUSALS = 3;
/** Maximum number of tokens of an answer. Some models reject requests for more than 4 096. */
const ANSWER_TOKENS = 4_000;

/** Options for the model call of a flush or a consolidation. */
export interface AskOptions {
  /** Replaces the configured model. */
  readonly model?: Model | null | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly emit?: ((event: AgentEventBody) => void) | undefined;
}

interface Question extends Omit<AskOptions, 'model'>, Readonly<Record<'system' | 'prompt', string>> {
  readonly operation: 'flush' | 'consolidation';
  /** Names the material, and where it stays if no answer can be used. */
  readonly about: string;
}

/** The result of checking an answer: its value, or why the answer cannot be used. */
export type Checked<Value> =
  | { readonly value: Value }
  | { readonly refused: string; readonly isCut?: boolean | undefined };

/**
 * Calls a model. If the answer is cut off, calls a tool or fails `check`, or if the provider rejects the prompt, asks again with the
 * reason. After three failures, reports them and returns `undefined`, so that the memory does not get stuck at this material.
 * @throws other errors of the model.
 */
export async function askModel<Value>(
  model: Model,
  question: Question,
  check: (answer: string) => Checked<Value>,
): Promise<Value | undefined> {
  const { operation, about, prompt, emit } = question;
  const answerTokens = tokensFor(model, ANSWER_TOKENS, 1 / 4);
  let refused = '';
  let maxOutputTokens = answerTokens;
  for (let asked = 0; asked < MOST_REFUSALS; asked++) {
    const again = `${prompt}\n\nAn earlier answer could not be used: ${refused}. Answer again as instructed.`;
    const attempt = { ...question, maxOutputTokens, prompt: asked === 0 ? prompt : again };
    const found = await ask(model, attempt, check).catch((error: unknown): Checked<Value> => {
      // More tokens take longer. Without a limit on the attempts, each turn would pay for the cut-off answers again.
      const isTimeout = Object(error).name === 'TimeoutError' && !question.signal?.aborted;
      if (isTimeout && maxOutputTokens > answerTokens) return { refused: 'it took too long' };
      throw error;
    });
    if ('value' in found) return found.value;
    refused = found.refused;
    // Thinking uses output tokens.
    maxOutputTokens = found.isCut ? maxOutputTokens * 2 : answerTokens;
  }
  const error = `The memory skips ${about}, because ${MOST_REFUSALS} answers of the model could not be used. Last reason: ${refused}. If this happens often, configure another model for the memory.`;
  emit?.({ type: 'memory.failed', operation, error });
  return undefined;
}

async function ask<Value>(
  model: Model,
  { system, prompt, maxOutputTokens, signal, emit }: Question & { readonly maxOutputTokens: number },
  check: (answer: string) => Checked<Value>,
): Promise<Checked<Value>> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const ends = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  const request = { system, messages: [userMessage(prompt)], tools: [], maxOutputTokens, signal: ends };
  const generate = () => unlessAborted(model.generate(request), ends);
  const answered = await withRetries(generate, { ...RETRIES, signal: ends }).catch((error: unknown) => {
    if (isRefused(error) || ContextOverflowError.isInstance(error)) return errorText(error);
    throw error;
  });
  if (typeof answered === 'string') return { refused: `the provider rejected the request: ${answered}` };
  const { content, finishReason } = answered;
  const answer = assistantMessage(content);
  const estimate = {
    inputTokens: estimateCounter.count(`${system}${prompt}`),
    outputTokens: estimateCounter.count(textOf(answer)),
  };
  const usage = soundUsage(answered.usage) ?? estimate;
  emit?.({ type: 'usage.reported', source: 'memory', modelId: model.id, usage });
  if (toolUsesOf(answer).length > 0) return { refused: 'it calls a tool' };
  if (finishReason === 'length') return { refused: 'it was cut off', isCut: true };
  if (finishReason !== 'stop') return { refused: `it ended with "${finishReason}"` };
  const text = withoutThoughts(textOf(answer)).trim();
  // Removes a code fence around the whole answer.
  return check(/^```[a-z]*\n([\s\S]*)\n```$/.exec(text)?.[1]?.trim() ?? text);
}

/** Tests whether an answer is one word, with or without Markdown or a full stop. */
export function isOnly(answer: string, word: string): boolean {
  return answer.replaceAll(/[-*`.\s]+/g, '') === word;
}

/** Quotes a text as data. Nothing in the text can end the quotation. */
export function quote(tag: string, text: string): string {
  return `<${tag}>\n${escapeTags(text, tag)}\n</${tag}>`;
}

/** Limits a part of a request to a share of the model's context window, without `used` tokens of it. */
export function tokensFor(model: Model | null, most: number, share = 1 / 3, used = 0): number {
  return Math.min(most, Math.ceil(((model?.contextWindow ?? Infinity) - used) * share));
}
