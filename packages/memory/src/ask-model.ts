import {
  type AgentEventBody,
  assistantMessage,
  type Model,
  textOf,
  toolUsesOf,
  unlessAborted,
  userMessage,
} from '@x/core';

/** After so long a model is taken for stuck: nobody should wait for it when the agent closes. */
const TIMEOUT_MS = 120_000;

export interface Question {
  readonly system: string;
  readonly prompt: string;
  readonly maxOutputTokens: number;
  readonly signal?: AbortSignal | undefined;
  readonly emit?: ((event: AgentEventBody) => void) | undefined;
}

/** What a check makes of an answer: its value, or why it cannot be used. */
export type Checked<Value> = { readonly value: Value } | { readonly refused: string };

/**
 * Asks a model, and once more when `check` refuses the answer: with the reason, and without what was refused. An answer
 * that was cut off, that calls tools, or that the provider stopped is refused before `check` sees it.
 *
 * @throws what the model throws.
 */
export async function askModel<Value>(
  model: Model,
  question: Question,
  check: (answer: string) => Checked<Value>,
): Promise<Checked<Value>> {
  const first = await ask(model, question, question.prompt, check);
  if ('value' in first) return first;
  const again = `${question.prompt}\n\nAn earlier answer was refused: ${first.refused}. Answer again, as asked.`;
  return ask(model, question, again, check);
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
  const response = await unlessAborted(model.generate(request), ends);
  if (response.usage)
    emit?.({ type: 'usage.reported', source: 'memory', modelId: model.id, usage: response.usage });
  const answer = assistantMessage(response.content);
  if (toolUsesOf(answer).length > 0) return { refused: 'it calls a tool' };
  if (response.finishReason === 'length') return { refused: 'it was cut off' };
  if (response.finishReason !== 'stop') return { refused: `it ended with "${response.finishReason}"` };
  return check(withoutFence(textOf(answer).trim()));
}

/** What stands in a code fence, when that is all there is. */
function withoutFence(answer: string): string {
  return /^```[a-z]*\n([\s\S]*)\n```$/.exec(answer)?.[1]?.trim() ?? answer;
}

/** Text to be read as data: nothing in it can end the quotation. */
export function quote(tag: string, text: string): string {
  return `<${tag}>\n${text.replaceAll(new RegExp(`<(?=/?${tag}>)`, 'gi'), '‹')}\n</${tag}>`;
}
