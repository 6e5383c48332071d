import {
  type ContentBlock,
  type FileBlock,
  isObject,
  type JsonObject,
  type JsonValue,
  type Message,
  type ThinkingBlock,
  textOf,
} from '@x/core';
import { carriedPart } from './carried-part.js';
import { filePart, type SendableSource } from './file-part.js';
import { optionsOf, type Prompt, type PromptPart } from './prompt.js';
import { type PartRole, PromptBuilder } from './prompt-builder.js';
import type { PromptTarget } from './target.js';
import { toolOutput } from './tool-output.js';

/**
 * A conversation as the prompt of an AI SDK model. Total: whatever the messages hold, each block goes where its kind
 * belongs (a tool result into a tool message, and so on), in the order of the conversation.
 */
export function toPrompt(
  request: { readonly system?: string | undefined; readonly messages: readonly Message[] },
  target: PromptTarget,
  sourceOf: (file: FileBlock) => SendableSource,
): Prompt {
  const builder = new PromptBuilder();
  const callMetadata = new Map<string, JsonObject>();
  builder.addSystem(request.system ?? '', undefined);
  let started = false;
  for (const message of request.messages) {
    if (message.role === 'system' && !started) {
      builder.addSystem(textOf(message), mergedMetadata(message));
      continue;
    }
    started = true;
    builder.startMessage();
    if (message.role === 'system') {
      // Half of the providers refuse a system message inside the conversation; all read what the user says.
      const text = textOf(message);
      if (text !== '') builder.add('user', { type: 'text', text: `<system>\n${text}\n</system>` });
      continue;
    }
    const speaker = message.role === 'tool' ? 'user' : message.role;
    for (const block of message.content) {
      const part = partOf(block, target, sourceOf, callMetadata);
      if (part !== undefined) builder.add(roleOf(block, part) ?? speaker, part);
    }
  }
  return builder.messages;
}

/** The role whose part this is, whoever's message it stands in; `undefined` for what both sides may say. */
function roleOf(block: ContentBlock, part: PromptPart): PartRole | undefined {
  if (part.type === 'tool-approval-response') return 'tool';
  if (part.type === 'tool-result' && block.type === 'tool_result') return 'tool';
  // A compaction that was asked for travels as a user's words, one of the server's own as the answer that it stands in.
  if (block.type === 'opaque' && part.type === 'text')
    return 'providerOptions' in part ? 'assistant' : 'user';
  return block.type === 'text' || block.type === 'file' ? undefined : 'assistant';
}

function partOf(
  block: ContentBlock,
  target: PromptTarget,
  sourceOf: (file: FileBlock) => SendableSource,
  callMetadata: Map<string, JsonObject>,
): PromptPart | undefined {
  const { providerMetadata } = block;
  switch (block.type) {
    case 'text':
      // Providers refuse blank text, which models do write beside tool calls.
      if (providerMetadata === undefined && block.text.trim() === '') return undefined;
      return { type: 'text', text: block.text, ...optionsOf(providerMetadata) };
    case 'file':
      return filePart(block, sourceOf(block), target);
    case 'thinking': {
      const options = optionsOf(thinkingMetadata(block));
      if (block.thinking === '' && options.providerOptions === undefined) return undefined;
      return { type: 'reasoning', text: block.thinking, ...options };
    }
    case 'tool_use':
      if (providerMetadata !== undefined) callMetadata.set(block.id, providerMetadata);
      return {
        type: 'tool-call',
        toolCallId: block.id,
        toolName: block.name,
        input: objectInput(block.input),
        ...optionsOf(providerMetadata),
      };
    case 'tool_result':
      return {
        type: 'tool-result',
        toolCallId: block.toolUseId,
        toolName: block.toolName,
        output: toolOutput(block, target, sourceOf),
        // As the SDK itself does: some providers mark calls so that they recognize the results.
        ...optionsOf(providerMetadata ?? callMetadata.get(block.toolUseId)),
      };
    case 'opaque':
      if (block.provider !== target.provider) return undefined;
      return target.compactedPart?.(block) ?? carriedPart(block);
  }
}

/** A system message carries its options as a whole. */
function mergedMetadata(message: Message): JsonObject | undefined {
  const all = message.content.flatMap((block) => block.providerMetadata ?? []);
  return all.length === 0 ? undefined : Object.assign({}, ...all);
}

/** A signature that came without metadata is Anthropic's: nobody else signs the text of thoughts. */
export function thinkingMetadata({ signature, providerMetadata }: ThinkingBlock): JsonObject | undefined {
  if (providerMetadata !== undefined || signature === undefined) return providerMetadata;
  return { anthropic: { signature } };
}

/** Providers take objects alone. What a model wrote instead, such as broken JSON, is shown to it under a name. */
function objectInput(input: JsonValue): JsonValue {
  return isObject(input) ? input : { invalid_input: input };
}
