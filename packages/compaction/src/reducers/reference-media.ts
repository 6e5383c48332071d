import { type FileBlock, type Message, parseWith, type TextBlock } from '@x/core';
import type * as z from 'zod';
import { referenceMediaSchema } from '../config/stage-schemas.js';
import { isUserRequest, latestUserRequest, startOfLive } from '../conversation/regions.js';
import type { Reducer } from '../reducer.js';
import { alterMessages, ifWorthwhile } from './alter-messages.js';
import { contentKey, mediaReference, placesIn } from './stubs.js';

/** The files that go, and the place of the one copy of each content. */
interface Selection {
  readonly going: ReadonlyMap<Message, ReadonlySet<FileBlock>>;
  readonly originOf: (message: Message, file: FileBlock) => Message;
}

type WhereIs = (message: Message, file: FileBlock) => string | undefined;

/**
 * Replaces files (images, documents) older than the newest `keepUserTurns` 2 by a text that says what they were and
 * where they are. Of files with the same content only the newest stays, and all references name one place. A file that
 * the model has not seen yet, or that belongs to the latest request, is never touched.
 */
export function referenceMedia(options: z.input<typeof referenceMediaSchema> = {}): Reducer {
  const { keepUserTurns } = parseWith(referenceMediaSchema, options, 'referenceMedia options');
  return {
    name: 'reference_media',
    cost: 'free',
    async reduce(view, budget, context) {
      const { going, originOf } = select(view.messages, keepUserTurns);
      const placeOf = placesIn(view.messages, context);
      const whereIs: WhereIs = (message, file) => placeOf(originOf(message, file));
      const alteration = alterMessages(view.messages, 'referenced', context, (message) => {
        const files = going.get(message);
        return files && { content: withReferences(message, files, whereIs), marks: {} };
      });
      return ifWorthwhile(view, budget, alteration);
    },
  };
}

function select(messages: readonly Message[], keepUserTurns: number): Selection {
  const live = messages.some(({ role }) => role === 'assistant') ? startOfLive(messages) : 0;
  const latest = latestUserRequest(messages);
  const kept = startOfTurns(messages, keepUserTurns);
  const origin = new Map<string, Message>();
  const newest = new Map<string, number>();
  messages.forEach((message, index) => {
    for (const file of filesOf(message)) {
      const key = contentKey(file);
      if (!origin.has(key)) origin.set(key, message);
      newest.set(key, index);
    }
  });
  const going = new Map<Message, Set<FileBlock>>();
  messages.slice(0, live).forEach((message, index) => {
    if (index === latest || message.role === 'system') return;
    const files = filesOf(message).filter((file) => index < kept || newest.get(contentKey(file)) !== index);
    if (files.length > 0) going.set(message, new Set(files));
  });
  return { going, originOf: (message, file) => origin.get(contentKey(file)) ?? message };
}

/** Index of the user request that begins the newest turns; the end when none are kept. */
function startOfTurns(messages: readonly Message[], turns: number): number {
  let index = messages.length;
  for (let left = turns; left > 0 && index > 0; ) {
    index--;
    if (isUserRequest(messages[index] as Message)) left--;
  }
  return index;
}

function filesOf(message: Message): readonly FileBlock[] {
  return message.content.flatMap((block) => {
    if (block.type === 'file') return [block];
    return block.type === 'tool_result' ? block.output.filter((part) => part.type === 'file') : [];
  });
}

function withReferences(
  message: Message,
  files: ReadonlySet<FileBlock>,
  whereIs: WhereIs,
): Message['content'] {
  const reference = (file: FileBlock): FileBlock | TextBlock =>
    files.has(file) ? { type: 'text', text: mediaReference(file, whereIs(message, file)) } : file;
  return message.content.map((block) => {
    if (block.type === 'file') return reference(block);
    if (block.type !== 'tool_result' || !block.output.some((part) => part.type === 'file')) return block;
    return { ...block, output: block.output.map((part) => (part.type === 'file' ? reference(part) : part)) };
  });
}
