import type { ContentBlock, FileSource, OpaqueBlock, ThinkingBlock } from '@x/core';
import type { ContentPart, FileDataLike, ProviderData, ReasoningContent } from '../language-model.js';
import { metadataOf, toJson } from '../to-json.js';
import { parseToolInput } from './tool-input.js';

/**
 * The parts of an answer as blocks, in their order. What has no block of its own — sources, custom parts, tools that
 * the provider ran itself — becomes an `opaque` block of `provider`.
 */
export function toBlocks(content: readonly ContentPart[], provider: string): readonly ContentBlock[] {
  return content.flatMap((part) => blocksOf(part, provider));
}

function blocksOf(part: ContentPart, provider: string): readonly ContentBlock[] {
  switch (part.type) {
    case 'text': {
      if (isCompaction(part.providerMetadata)) return [opaque(part, provider)];
      const { text, citations = [] } = part;
      const empty = text === '' && part.providerMetadata == null;
      return [
        ...(empty ? [] : [{ type: 'text' as const, text, ...metadataOf(part) }]),
        ...(citations.length === 0 ? [] : [opaque({ type: 'citations', citations }, provider)]),
      ];
    }
    case 'reasoning':
      return part.text === '' && part.providerMetadata == null ? [] : [thinking(part)];
    case 'file':
      return [{ type: 'file', mediaType: part.mediaType, source: sourceOf(part.data), ...metadataOf(part) }];
    case 'tool-call':
      if (part.providerExecuted) return [opaque(part, provider, part.toolCallId, 'call')];
      return [
        {
          type: 'tool_use',
          id: part.toolCallId,
          name: part.toolName,
          input: parseToolInput(part.input),
          ...metadataOf(part),
        },
      ];
    case 'tool-result':
      // A preliminary result is replaced by the final one that follows.
      return part.preliminary ? [] : [opaque(part, provider, part.toolCallId, 'result')];
    case 'custom':
      // The beginning of a streamed message, with its usage: no part of the answer, and not in one that is not streamed.
      return part.kind === 'anthropic.message_start' ? [] : [opaque(part, provider)];
    default:
      return [opaque(part, provider)];
  }
}

/** Tells what Anthropic's server wrote for itself, which the SDK gives as text, from what the model said. */
export function isCompaction(metadata: ProviderData | undefined): boolean {
  return metadata?.anthropic?.type === 'compaction';
}

function opaque(part: object, provider: string, callId?: string, half?: OpaqueBlock['half']): ContentBlock {
  const pairing = callId === undefined || half === undefined ? {} : { callId, half };
  return { type: 'opaque', provider, data: toJson(part), ...pairing };
}

function thinking(part: ReasoningContent): ThinkingBlock {
  const signature = Object.values(part.providerMetadata ?? {}).find(
    (data) => typeof data?.signature === 'string',
  )?.signature;
  return {
    type: 'thinking',
    thinking: part.text,
    ...(typeof signature === 'string' ? { signature } : {}),
    ...metadataOf(part),
  };
}

function sourceOf(data: FileDataLike): FileSource {
  if (typeof data === 'string') return { type: 'base64', data };
  if (data instanceof Uint8Array) return { type: 'base64', data: Buffer.from(data).toString('base64') };
  return data.type === 'url' ? { type: 'url', url: data.originalUrl ?? data.url.href } : sourceOf(data.data);
}
