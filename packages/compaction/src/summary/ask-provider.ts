import {
  classifyModelError,
  type Message,
  type Model,
  type NativeCompaction,
  type NativeCompactionRequest,
  nativeIndex,
  withRetries,
} from '@x/core';
import { RETRIES } from './write-narrative.js';

/**
 * Has a model's provider condense a conversation with its own endpoint. An item that it made earlier and no longer reads is
 * replaced by the record beside it.
 *
 * @throws what the provider throws once retries have failed.
 */
export async function askProvider(
  model: Model,
  request: NativeCompactionRequest,
): Promise<NativeCompaction & { readonly note?: string }> {
  const ask = async (reader: string | undefined) => {
    const messages = request.messages.flatMap((message) =>
      message.role === 'system' ? [] : forProvider(message, reader),
    );
    const compact = async () => (await model.compact?.({ ...request, messages })) ?? { content: [] };
    return withRetries(compact, { ...RETRIES, signal: request.signal });
  };
  try {
    return await ask(model.id);
  } catch (error) {
    if (classifyModelError(error) !== 'unreadable') throw error;
    const note = 'the provider no longer reads its earlier compaction: the record stood in';
    return { ...(await ask(undefined)), note };
  }
}

/**
 * A message as a provider condenses it. Of an earlier summary only its own compaction, where `reader` made it, else the text: as
 * the assistant's, because providers keep all that users say.
 */
function forProvider(message: Message, reader: string | undefined): Message {
  if (message.kind !== 'summary') return message;
  const native = nativeIndex(message) >= 0 && message.metadata?.modelId === reader;
  return {
    ...message,
    role: 'assistant',
    content: message.content.filter(({ type }) => (type === 'opaque') === native),
  };
}
