import { type Message, type Model, ModelError, TimeLimitError, withRetries } from '@x/core';
import { type Deadline, mayRefuseItems, nativeIndex, systemClock, withinLimit } from '@x/core/internal';
import {
  classifyModelError,
  type ModelErrorKind,
  type NativeCompaction,
  type NativeCompactionRequest,
} from '@x/core/messages';
import { errorLine } from '../conversation/text.js';
import { RETRIES } from './write-narrative.js';

/**
 * Milliseconds for which an endpoint is not asked after such a failure, once retries have failed. Other failures concern a single request.
 */
const REST_MS: { readonly [Kind in ModelErrorKind]?: number } = {
  transient: 60_000,
  rate_limit: 60_000,
  quota: 600_000,
  auth: 600_000,
};

/** By model: the failure of its endpoint, and the time until which it is not asked. */
const resting = new WeakMap<Model, { readonly until: number; readonly error: unknown }>();

/**
 * Has a model's provider condense a conversation with its own endpoint. If the provider can no longer read an item that it made earlier,
 * the record replaces that item. A failing endpoint is not asked for a while, so that a compaction does not wait for its retries again.
 *
 * @throws the provider's error once retries have failed, and a `ModelError` at once while the endpoint rests.
 */
export async function askProvider(
  model: Model,
  request: NativeCompactionRequest,
  timeoutMs: number,
): Promise<NativeCompaction & { readonly note?: string }> {
  const rest = resting.get(model);
  if (rest && systemClock.now() < rest.until) {
    const message = `not asked again, for it failed a moment ago: ${errorLine(rest.error)}`;
    throw new ModelError(message, { modelId: model.id, cause: rest.error });
  }
  const ask = async (reader: string | undefined) => {
    const messages = request.messages.flatMap((message) =>
      message.role === 'system' ? [] : forProvider(message, reader),
    );
    const { signal } = request;
    const limit = [`The compaction of ${model.id}`, 'summary.timeoutMs', timeoutMs] as const;
    const compact = async (deadline: Deadline) =>
      (await model.compact?.({ ...request, messages, signal: deadline.signal })) ?? { content: [] };
    return withRetries(() => withinLimit(limit, compact, signal), { ...RETRIES, signal });
  };
  try {
    return await ask(model.id);
  } catch (error) {
    if (!request.signal?.aborted) restProvider(model, error);
    const isReread = request.messages.some((message) => isNative(message, model.id));
    if (!isReread || !mayRefuseItems(error)) throw error;
    const note = 'the provider no longer reads its earlier compaction: the record stood in';
    return { ...(await ask(undefined)), note };
  }
}

/** Milliseconds for which an endpoint is not asked after a late answer, which was paid for and useless. */
const SLOW_MS = 600_000;

/** Stops asking an endpoint for a while, depending on its failure. */
export function restProvider(model: Model, error: unknown): void {
  const restMs = TimeLimitError.isInstance(error) ? SLOW_MS : REST_MS[classifyModelError(error)];
  if (restMs !== undefined) resting.set(model, { until: systemClock.now() + restMs, error });
}

/**
 * Prepares a message for the provider. Of an earlier summary it keeps the provider's own compaction if `reader` made it, else the text.
 * Such a summary gets the assistant's role, because providers keep everything that users say.
 */
function forProvider(message: Message, reader: string | undefined): Message {
  if (message.kind !== 'summary') return message;
  const native = isNative(message, reader);
  return {
    ...message,
    role: 'assistant',
    content: message.content.filter(({ type }) => (type === 'opaque') === native),
  };
}

function isNative(message: Message, reader: string | undefined): boolean {
  return nativeIndex(message) >= 0 && message.metadata?.modelId === reader;
}
