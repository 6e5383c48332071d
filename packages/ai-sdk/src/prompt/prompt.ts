import type { JsonObject, JsonValue, OpaqueBlock } from '@x/core';
import type { AiSdkLanguageModel } from '../language-model.js';

/** The prompt of an AI SDK model, as this package writes it. */
export type Prompt = readonly PromptMessage[];

interface WithOptions {
  readonly providerOptions?: JsonObject | undefined;
}

export type PromptMessage =
  | ({ readonly role: 'system'; readonly content: string } & WithOptions)
  | { readonly role: 'user' | 'assistant' | 'tool'; readonly content: readonly PromptPart[] };

export interface TextPart extends WithOptions {
  readonly type: 'text';
  readonly text: string;
}

interface ReasoningPart extends WithOptions {
  readonly type: 'reasoning';
  readonly text: string;
}

/** V2 and V3: base64, a URL or a provider's file id. V4: tagged. */
export type FileData =
  | string
  | URL
  | { readonly type: 'data'; readonly data: string }
  | { readonly type: 'url'; readonly url: URL }
  | { readonly type: 'reference'; readonly reference: { readonly [provider: string]: string } };
export interface FilePart extends WithOptions {
  readonly type: 'file';
  readonly data: FileData;
  readonly mediaType: string;
  readonly filename?: string | undefined;
}

interface ToolCallPart extends WithOptions {
  readonly type: 'tool-call';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: JsonValue;
}

interface ToolResultPart extends WithOptions {
  readonly type: 'tool-result';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: ToolOutput;
}

export type ToolOutput =
  | ({ readonly type: 'text' | 'error-text'; readonly value: string } & WithOptions)
  | { readonly type: 'json'; readonly value: JsonValue }
  | { readonly type: 'content'; readonly value: readonly ToolOutputPart[] };
/** Text, or a file in the words of the model's version: see `tool-output.ts`. */
export type ToolOutputPart = TextPart | FilePart | CarriedPart;
/** A part whose fields only the provider reads. */
export type CarriedPart = { readonly type: string; readonly [key: string]: unknown };

export type PromptPart = TextPart | ReasoningPart | FilePart | ToolCallPart | ToolResultPart | CarriedPart;

/** `{ providerOptions }`, or nothing where a block has no metadata. */
export function optionsOf(metadata: JsonObject | undefined): WithOptions {
  return metadata === undefined ? {} : { providerOptions: metadata };
}

/** Whom a prompt is for. */
export interface PromptTarget extends Pick<AiSdkLanguageModel, 'specificationVersion' | 'provider'> {
  /** What stands for a compaction of the provider's own; `undefined` for all other blocks. */
  readonly compactedPart?: (block: OpaqueBlock) => PromptPart | undefined;
  /** Ids of the provider's own tools, such as `openai.shell`, by the names that the request has for them. */
  readonly providerTools?: ReadonlyMap<string, string>;
}

/** `openai.responses` → `openai`: the name under which a provider keeps its files and options. */
export function providerFamily(provider: string): string {
  return provider.split('.', 1)[0] ?? provider;
}
