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

/** For how many milliseconds an endpoint that failed so, retries and all, is not asked again. Other failures are of one request. */
const REST_MS: { readonly [Kind in ModelErrorKind]?: number } = {
  transient: 60_000,
  rate_limit: 60_000,
  quota: 600_000,
  auth: 600_000,
};

/** By model, what its endpoint failed with, and until when it rests. */
const resting = new WeakMap<Model, { readonly until: number; readonly error: unknown }>();

/**
 * Has a model's provider condense a conversation with its own endpoint. An item that it made earlier and no longer reads is
 * replaced by the record beside it. An endpoint that is down is left alone for a while: whoever waits for a compaction
 * should not wait for its retries again.
 *
 * @throws what the provider throws once retries have failed, and at once while the endpoint is left alone.
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

/** For so long an endpoint is left alone whose answer came too late: it was paid for, and of no use. */
const SLOW_MS = 600_000;

/** Leaves an endpoint alone for a while, as its failure asks for. */
export function restProvider(model: Model, error: unknown): void {
  const restMs = TimeLimitError.isInstance(error) ? SLOW_MS : REST_MS[classifyModelError(error)];
  if (restMs !== undefined) resting.set(model, { until: systemClock.now() + restMs, error });
}

/**
 * A message as a provider condenses it. Of an earlier summary only its own compaction, where `reader` made it, else the text: as
 * the assistant's, because providers keep all that users say.
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
