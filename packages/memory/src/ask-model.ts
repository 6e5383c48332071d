import {
  type AgentEventBody,
  assistantMessage,
  type Model,
  ModelError,
  textOf,
  toolUsesOf,
  userMessage,
} from '@x/core';
import { escapeTags, unlessAborted } from '@x/core/internal';
import { MemoryRefusedError } from './errors.js';

/** Timeout of one model call: a closing agent waits for it. */
const TIMEOUT_MS = 120_000;
/** After this many refused answers in a row, the model is not asked about the same material again, so that the memory never gets stuck. */
export const MOST_REFUSALS = 3;

/** How a flush or a consolidation asks its model. */
export interface AskOptions {
  /** Instead of the configured one. */
  readonly model?: Model | null | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly emit?: ((event: AgentEventBody) => void) | undefined;
}

interface Question extends Omit<AskOptions, 'model'>, Readonly<Record<'system' | 'prompt', string>> {
  readonly operation: 'flush' | 'consolidation';
  readonly maxOutputTokens: number;
  /** Counts an answer that cannot be used. Errors that can be retried are not counted. */
  readonly countRefusal: () => Promise<unknown>;
}

/** The result of checking an answer: its value, or why it cannot be used. */
export type Checked<Value> = { readonly value: Value } | { readonly refused: string };

/**
 * Asks a model. If the answer is cut off, calls a tool or fails `check`, asks again and says why.
 * @throws {MemoryRefusedError} when both answers are refused.
 * @throws what the model throws.
 */
export async function askModel<Value>(
  model: Model,
  question: Question,
  check: (answer: string) => Checked<Value>,
): Promise<Value> {
  const { operation, prompt, signal, countRefusal } = question;
  try {
    const first = await ask(model, question, prompt, check);
    if ('value' in first) return first.value;
    const again = `${prompt}\n\nAn earlier answer was refused: ${first.refused}. Answer again, as asked.`;
    const second = await ask(model, question, again, check);
    if ('value' in second) return second.value;
    throw new MemoryRefusedError(operation, second.refused);
  } catch (error) {
    if (!signal?.aborted && !(ModelError.isInstance(error) && error.retryable)) await countRefusal();
    throw error;
  }
}

async function ask<Value>(
  model: Model,
  { system, maxOutputTokens, signal, emit }: Question,
  prompt: string,
  check: (answer: string) => Checked<Value>,
): Promise<Checked<Value>> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const ends = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  const request = { system, messages: [userMessage(prompt)], tools: [], maxOutputTokens, signal: ends };
  const { usage, content, finishReason } = await unlessAborted(model.generate(request), ends);
  if (usage) emit?.({ type: 'usage.reported', source: 'memory', modelId: model.id, usage });
  const answer = assistantMessage(content);
  if (toolUsesOf(answer).length > 0) return { refused: 'it calls a tool' };
  if (finishReason === 'length') return { refused: 'it was cut off' };
  if (finishReason !== 'stop') return { refused: `it ended with "${finishReason}"` };
  const text = textOf(answer).trim();
  // Removes a code fence around the whole answer.
  return check(/^```[a-z]*\n([\s\S]*)\n```$/.exec(text)?.[1]?.trim() ?? text);
}

/** Quotes a text as data. Nothing in the text can end the quotation. */
export function quote(tag: string, text: string): string {
  return `<${tag}>\n${escapeTags(text, tag)}\n</${tag}>`;
}

/** Limits the tokens of material in one request to a third of the model's window. */
export function tokensFor(model: Model | null, most: number): number {
  return Math.min(most, Math.ceil((model?.contextWindow ?? Infinity) / 3));
}
