import type { ModelStreamPart } from '@x/core';
import {
  type ContentPart,
  mergedOptions,
  type StreamPart,
  type TextContent,
  type TextPart,
} from '../language-model.js';
import { isCompaction } from './to-blocks.js';

type OpenText = { -readonly [Field in keyof TextContent]: TextContent[Field] };

/** Collects the parts of a streamed answer into the content that `doGenerate` would have returned. */
export class ContentAssembler {
  readonly #content: ContentPart[] = [];
  readonly #open = new Map<string, OpenText>();
  readonly #toolNames = new Map<string, string>();
  readonly #streamedCalls = new Set<string>();

  /** The answer so far. */
  get content(): readonly ContentPart[] {
    return this.#content;
  }

  /** Adds a part. Returns the delta for the caller, if the part contains one. */
  add(part: StreamPart): ModelStreamPart | undefined {
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.#addText(part);
      case 'tool-input-start':
        if (!part.providerExecuted) this.#toolNames.set(part.id, part.toolName);
        return undefined;
      case 'tool-input-delta':
        return this.#toolDelta(part.id, part.delta);
      case 'tool-call': {
        this.#content.push(part);
        if (part.providerExecuted || this.#streamedCalls.has(part.toolCallId)) return undefined;
        // The provider does not stream this call, so its complete input is one delta.
        this.#toolNames.set(part.toolCallId, part.toolName);
        return this.#toolDelta(part.toolCallId, part.input);
      }
      case 'file':
      case 'source':
      case 'custom':
      case 'reasoning-file':
      case 'tool-result':
      case 'tool-approval-request':
        this.#content.push(part);
        return undefined;
      default:
        return undefined;
    }
  }

  #addText(part: TextPart): ModelStreamPart | undefined {
    const type = part.type.startsWith('text') ? 'text' : 'reasoning';
    const key = `${type}:${part.id}`;
    let open = this.#open.get(key);
    // Providers may reuse an id, so a start always opens a new part.
    if (open === undefined || part.type.endsWith('-start')) {
      open = { type, text: '' };
      this.#open.set(key, open);
      this.#content.push(open);
    }
    if (part.providerMetadata != null)
      // Metadata may arrive in several parts: a signature in a delta, an encrypted text at the end.
      open.providerMetadata = mergedOptions(open.providerMetadata ?? {}, part.providerMetadata);
    if (part.citations !== undefined) open.citations = part.citations;
    if (part.type.endsWith('-end')) this.#open.delete(key);
    if (part.delta === undefined || part.delta === '') return undefined;
    open.text += part.delta;
    if (isCompaction(open.providerMetadata)) return undefined;
    return { type: type === 'text' ? 'text-delta' : 'thinking-delta', text: part.delta };
  }

  #toolDelta(id: string, inputDelta: string): ModelStreamPart | undefined {
    const name = this.#toolNames.get(id);
    if (name === undefined || inputDelta === '') return undefined;
    this.#streamedCalls.add(id);
    return { type: 'tool-call-delta', id, name, inputDelta };
  }
}
