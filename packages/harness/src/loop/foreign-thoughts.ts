import type { ContentBlock, JsonObject, Message, Model } from '@x/core';

/** Where a message says which model wrote it. */
const KEY = 'modelId';

/** Names the author of an answer that holds what only its author can read: thoughts, signatures, opaque items. */
export function authorship(content: readonly ContentBlock[], model: Model): { metadata?: JsonObject } {
  return content.some(isPrivate) ? { metadata: { [KEY]: model.id } } : {};
}

/**
 * The conversation as `model` may read it: of answers that another model wrote, thoughts and opaque items are left out
 * whole, never just their signature, and so is what the provider attached. A message that is nothing else is left out.
 * The very list when there is nothing to leave out.
 */
export function readableBy(model: Model, messages: readonly Message[]): readonly Message[] {
  const isForeign = ({ metadata }: Message) => metadata?.[KEY] !== undefined && metadata[KEY] !== model.id;
  if (!messages.some(isForeign)) return messages;
  return messages.flatMap((message) => (isForeign(message) ? withoutThoughts(message) : message));
}

function withoutThoughts(message: Message): readonly Message[] {
  const content = message.content
    .filter((block) => block.type !== 'thinking' && block.type !== 'opaque')
    .map((block): ContentBlock => {
      if (block.providerMetadata === undefined) return block;
      const { providerMetadata: _, ...rest } = block;
      return rest;
    });
  return content.length === 0 ? [] : [{ ...message, content }];
}

function isPrivate(block: ContentBlock): boolean {
  return block.type === 'thinking' || block.type === 'opaque' || block.providerMetadata !== undefined;
}
