import {
  type ContentBlock,
  type FileBlock,
  type JsonObject,
  type JsonValue,
  type Message,
  type OpaqueBlock,
  type ThinkingBlock,
  type ToolOutputBlock,
  textOf,
} from '@x/core';
import { describeFile, digest, isObject, wellFormed } from '@x/core/internal';
import { type Part, parseInput, type ToolDefinition } from '@x/core/messages';
import { carriesCompaction } from '../compact/openai-compaction.js';
import { optionsOf, type Prompt, type PromptMessage, type PromptTarget } from './prompt.js';
import { filePart, toolOutput } from './tool-output.js';

/**
 * Converts a conversation to the prompt of an AI SDK model. Each block is put into a message of the role that its type requires, for example
 * a tool result into a tool message. The order of the blocks stays the same. The messages must be `sendable`, and their files resolved.
 */
export function toPrompt(
  request: {
    readonly system?: string | undefined;
    readonly messages: readonly Message[];
    readonly tools?: readonly Pick<ToolDefinition, 'name'>[];
  },
  target: PromptTarget,
): Prompt {
  const builder = new PromptBuilder();
  const writer: Writer = {
    target,
    names: new Set([
      ...(request.tools ?? []).map(({ name }) => name),
      ...(target.providerTools?.keys() ?? []),
    ]),
    callMetadata: new Map(),
  };
  builder.addSystem(wellFormed(request.system ?? ''), undefined);
  let started = false;
  for (const message of request.messages) {
    if (message.role === 'system' && !started) {
      builder.addSystem(textOf(message), mergedMetadata(message));
      continue;
    }
    started = true;
    builder.startMessage();
    if (message.role === 'system') {
      // Many providers reject a system message inside the conversation. All of them accept a user message.
      const text = textOf(message);
      if (text !== '') builder.add('user', { type: 'text', text: `<system>\n${text}\n</system>` });
      continue;
    }
    const speaker = message.role === 'tool' ? 'user' : message.role;
    const written = message.content.map((block) => {
      const { kept, moved } = withoutMoved(block, target);
      return { block, part: partOf(kept, writer), moved };
    });
    // Omit reasoning at the end of a message, as in a truncated answer, because providers reject it.
    const last = written.findLastIndex(
      ({ part }) => part && (part.type !== 'reasoning' || carriesCompaction(part.providerOptions)),
    );
    for (const { block, part, moved } of written.slice(0, last + 1)) {
      if (part !== undefined) builder.add(roleOf(block, part) ?? speaker, part);
      for (const file of moved) builder.addBehind(filePart(file, target));
    }
  }
  return builder.end();
}

/** The state for writing one prompt. */
interface Writer {
  readonly target: PromptTarget;
  /** Names of the tools that the request offers. */
  readonly names: ReadonlySet<string>;
  /** Provider metadata of tool calls, by call id. */
  readonly callMetadata: Map<string, JsonObject>;
}

/** Removes from a result the files that the provider reads only in messages. */
function withoutMoved(
  block: ContentBlock,
  { rules }: PromptTarget,
): { readonly kept: ContentBlock; readonly moved: readonly FileBlock[] } {
  if (block.type !== 'tool_result') return { kept: block, moved: [] };
  const moved: FileBlock[] = [];
  const output = block.output.map((part): ToolOutputBlock => {
    if (part.type !== 'file' || rules.resultFiles.test(part.mediaType)) return part;
    moved.push(part);
    return { type: 'text', text: `[${describeFile(part)} follows behind the results.]` };
  });
  return { kept: moved.length === 0 ? block : { ...block, output }, moved };
}

/** Returns the role that a part requires, whatever the role of its message; `undefined` if user and assistant may both have it. */
function roleOf(block: ContentBlock, part: Part): PartRole | undefined {
  if (part.type === 'tool-approval-response') return 'tool';
  if (part.type === 'tool-result' && block.type === 'tool_result') return 'tool';
  // A requested compaction is sent as a user message. A compaction that the server made by itself stays in the assistant's message.
  if (block.type === 'opaque' && part.type === 'text')
    return 'providerOptions' in part ? 'assistant' : 'user';
  return block.type === 'text' || block.type === 'file' ? undefined : 'assistant';
}

function partOf(block: ContentBlock, { target, names, callMetadata }: Writer): Part | undefined {
  const { providerMetadata } = block;
  switch (block.type) {
    case 'text':
      // Providers reject blank text, but models write it next to tool calls.
      if (block.text.trim() === '' && !isKept(providerMetadata, target)) return undefined;
      return { type: 'text', text: block.text, ...optionsOf(providerMetadata) };
    case 'file':
      return filePart(block, target);
    case 'thinking': {
      const options = optionsOf(thinkingMetadata(block));
      if (block.thinking === '' && options.providerOptions === undefined) return undefined;
      return { type: 'reasoning', text: block.thinking, ...options };
    }
    case 'tool_use':
      if (providerMetadata !== undefined) callMetadata.set(block.id, providerMetadata);
      return {
        type: 'tool-call',
        toolCallId: callIdOf(block.id, target),
        toolName: toolNameOf(block.name, names),
        input: objectInput(block.input),
        ...optionsOf(providerMetadata),
      };
    case 'tool_result':
      return {
        type: 'tool-result',
        toolCallId: callIdOf(block.toolUseId, target),
        toolName: toolNameOf(block.toolName, names),
        output: toolOutput(block, target),
        // As the SDK does, send a call's metadata with its result, because some providers need it there.
        ...optionsOf(providerMetadata ?? callMetadata.get(block.toolUseId)),
      };
    case 'opaque':
      if (block.provider !== target.provider) return undefined;
      return target.compactedPart?.(block) ?? carriedPart(block);
  }
}

/**
 * Tests if the target's provider needs an empty part, because the part has an id or a signature of this provider. Other providers reject
 * empty parts. A cache mark alone does not count.
 */
function isKept(metadata: JsonObject = {}, { provider }: PromptTarget): boolean {
  const isOwn = (name: string) =>
    provider.includes(name) || (name === 'openai' && provider.startsWith('azure'));
  return Object.entries(metadata).some(
    ([name, own]) => isOwn(name) && isObject(own) && Object.keys(own).some((key) => key !== 'cacheControl'),
  );
}

/** Merges the metadata of a message's blocks, because a system message has one set of options. */
function mergedMetadata(message: Message): JsonObject | undefined {
  const all = message.content.flatMap((block) => block.providerMetadata ?? []);
  return all.length === 0 ? undefined : Object.assign({}, ...all);
}

/** Returns the metadata of reasoning. A signature without metadata is Anthropic's, because no other provider signs the text. */
export function thinkingMetadata({ signature, providerMetadata }: ThinkingBlock): JsonObject | undefined {
  if (providerMetadata !== undefined || signature === undefined) return providerMetadata;
  return { anthropic: { signature } };
}

/** Returns a call's input as an object, because providers reject other input, such as invalid JSON. It becomes `{ invalid_input }`. */
function objectInput(input: JsonValue): JsonValue {
  return isObject(input) ? input : { invalid_input: input };
}

/** Returns a call id that the provider accepts. Ids of other providers may be too long or contain invalid characters, so they are hashed. */
function callIdOf(id: string, { rules }: PromptTarget): string {
  return rules.callId.test(id) ? id : digest(id).slice(0, 9);
}

/** Returns a tool name that every provider accepts. Models may call tools that do not exist, with any name. */
function toolNameOf(name: string, offered: ReadonlySet<string>): string {
  // Provider packages look up names in objects, which have inherited keys such as `constructor`.
  if (!(name in {}) && (offered.has(name) || /^[a-z_][\w-]{0,63}$/i.test(name))) return name;
  return `_${name.replaceAll(/[^\w-]/g, '_')}`.slice(0, 64);
}

type PartRole = 'user' | 'assistant' | 'tool';

/** Groups parts into messages, by the message that they come from and by role. Consecutive tool results become one message. */
class PromptBuilder {
  readonly #messages: PromptMessage[] = [];
  /** Files of tool results. They are sent after the last result of the step, because nothing is allowed between results. */
  readonly #behind: Part[] = [];
  #open: { readonly role: PartRole; readonly content: Part[] } | undefined;

  startMessage(): void {
    if (this.#open?.role !== 'tool') this.#open = undefined;
  }

  addBehind(part: Part): void {
    this.#behind.push(part);
  }

  end(): Prompt {
    const files = this.#behind.splice(0);
    const text = 'Files of the tool results above:';
    if (files.length > 0) this.#messages.push({ role: 'user', content: [{ type: 'text', text }, ...files] });
    return this.#messages;
  }

  add(role: PartRole, part: Part): void {
    if (role !== 'tool') this.end();
    // Many providers reject a conversation that begins with the assistant, except if it is the provider's own compaction.
    if (
      role === 'assistant' &&
      !('providerOptions' in part) &&
      this.#messages.every(({ role }) => role === 'system')
    )
      this.#messages.push({ role: 'user', content: [{ type: 'text', text: '[The conversation begins.]' }] });
    if (this.#open?.role !== role) {
      this.#open = { role, content: [] };
      this.#messages.push(this.#open);
    }
    this.#open.content.push(part);
  }

  /** Adds a system message. Texts without options are joined into one message, because some chat templates reject a second one. */
  addSystem(text: string, metadata: JsonObject | undefined): void {
    if (text === '' && metadata === undefined) return;
    const last = this.#messages.at(-1);
    if (last?.role === 'system' && last.providerOptions === undefined && metadata === undefined) {
      this.#messages[this.#messages.length - 1] = { role: 'system', content: `${last.content}\n\n${text}` };
    } else {
      this.#messages.push({ role: 'system', content: text, ...optionsOf(metadata) });
    }
  }
}

/**
 * Converts a provider's own part from the format of answers to the format of prompts, so that it can be sent back to the provider: its
 * metadata becomes options, and a call's input, a result or a URL is rewritten. Returns `undefined` for sources, citations and approval
 * requests, which are for the application and are not sent back.
 */
function carriedPart(block: OpaqueBlock): Part | undefined {
  const { data } = block;
  if (!isObject(data)) return undefined;
  const { type, providerMetadata, ...rest } = data;
  const metadata = block.providerMetadata ?? (isObject(providerMetadata) ? providerMetadata : undefined);
  switch (type) {
    case 'custom':
    case 'text':
    case 'tool-approval-response':
      return { type, ...rest, ...optionsOf(metadata) };
    case 'tool-call': {
      const { toolCallId, toolName, input, providerExecuted } = rest;
      const parsed = parseInput(input);
      return { type, toolCallId, toolName, input: parsed, providerExecuted, ...optionsOf(metadata) };
    }
    case 'tool-result': {
      const { toolCallId, toolName, result = null, isError } = rest;
      return {
        type,
        toolCallId,
        toolName,
        output: outputOf(result, isError === true),
        ...optionsOf(metadata),
      };
    }
    case 'reasoning-file':
      return { type, ...rest, data: fileDataOf(rest.data), ...optionsOf(metadata) };
    default:
      return undefined;
  }
}

function outputOf(result: JsonValue, isError: boolean): JsonObject {
  if (isError) return { type: 'error-json', value: result };
  return { type: typeof result === 'string' ? 'text' : 'json', value: result };
}

/** Converts a URL from text, as JSON stores it, to the object that a prompt needs. */
function fileDataOf(data: JsonValue | undefined): unknown {
  return isObject(data) && data.type === 'url' && typeof data.url === 'string'
    ? { ...data, url: new URL(data.url) }
    : data;
}
