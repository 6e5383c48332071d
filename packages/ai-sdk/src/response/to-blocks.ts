import type { ContentBlock, JsonObject } from '@x/core';
import { aiSdkDialect, opaquePart, type Part, plainJson } from '@x/core/messages';
import type { ContentPart, ProviderData } from '../language-model.js';

/**
 * Turns the parts of an answer into blocks, in order. Sources, custom parts and tools that the provider ran become `opaque` blocks
 * of `provider`.
 */
export function toBlocks(content: readonly ContentPart[], provider: string): readonly ContentBlock[] {
  return content.flatMap((part) => blocksOf(part, provider));
}

function blocksOf(part: ContentPart, provider: string): readonly ContentBlock[] {
  const { providerMetadata } = part;
  switch (part.type) {
    case 'text':
    case 'reasoning': {
      if (isCompaction(providerMetadata)) return [opaquePart(part, provider)];
      const { text, citations = [] } = part;
      const isEmpty = text === '' && providerMetadata == null;
      return [
        ...(isEmpty ? [] : [blockOf(part, provider)]),
        ...(citations.length === 0 ? [] : [opaquePart({ type: 'citations', citations }, provider)]),
      ];
    }
    case 'tool-result':
      // A preliminary result is replaced by the final one that follows.
      return part.preliminary ? [] : [opaquePart(part, provider)];
    case 'custom':
      // Only streams have this part. It contains usage, and is not content of the answer.
      return part.kind === 'anthropic.message_start' ? [] : [opaquePart(part, provider)];
    default:
      return [blockOf(part, provider)];
  }
}

function blockOf(part: ContentPart, provider: string): ContentBlock {
  return (
    aiSdkDialect.read(part as { readonly type: string } as Part, 'assistant') ?? opaquePart(part, provider)
  );
}

/** Tests if a text is a compaction by Anthropic's server, and not an answer of the model. */
export function isCompaction(metadata: ProviderData | undefined): boolean {
  return metadata?.anthropic?.type === 'compaction';
}

/** Returns the metadata of a part as `{ providerMetadata }` of a block, or an empty object if there is none. */
export function metadataOf({ providerMetadata }: { readonly providerMetadata?: ProviderData | undefined }): {
  readonly providerMetadata?: JsonObject;
} {
  return providerMetadata == null ? {} : { providerMetadata: plainJson(providerMetadata) as JsonObject };
}
