import { type Message, type Model, withRetries } from '@x/core';
import { type Deadline, mayRefuseItems, nativeIndex, withinLimit } from '@x/core/internal';
import type { NativeCompaction, NativeCompactionRequest } from '@x/core/messages';
import { RETRIES } from './write-narrative.js';

/**
 * Condenses a conversation with the compaction endpoint of a model's provider. If the provider can no longer read an item that it made
 * earlier, the record replaces that item.
 *
 * @throws the provider's error once retries have failed.
 */
export async function askProvider(
  model: Model,
  request: NativeCompactionRequest,
  timeoutMs: number,
): Promise<NativeCompaction & { readonly note?: string }> {
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
    const isReread = request.messages.some((message) => isNative(message, model.id));
    if (!isReread || !mayRefuseItems(error)) throw error;
    const note = 'the provider could not read its earlier compaction, so the record replaced it';
    return { ...(await ask(undefined)), note };
  }
}

/**
 * Prepares a message for the provider. Of an earlier summary, it keeps the provider's own compaction if `reader` made it, else the text.
 * Such a text gets the assistant's role, because providers keep all user messages unchanged.
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
