import { InvalidInputError } from '@x/core';

/**
 * A language model of the AI SDK, specification 2, 3 or 4. Declares only the fields that this package uses. The type is not imported, so
 * that every version of the SDK is compatible and none has to be installed.
 */
export interface AiSdkLanguageModel {
  readonly specificationVersion: 'v2' | 'v3' | 'v4';
  /** For example `anthropic.messages`. */
  readonly provider: string;
  readonly modelId: string;
  /** By media type, patterns of the URLs that the provider itself can fetch. */
  readonly supportedUrls: PromiseLike<SupportedUrls> | SupportedUrls;
  doGenerate(options: CallOptions): PromiseLike<GenerateResult>;
  doStream(options: CallOptions): PromiseLike<{
    readonly stream: StreamLike<StreamPart>;
    readonly response?: { readonly headers?: { readonly [name: string]: string } | undefined } | undefined;
  }>;
}

export type SupportedUrls = { readonly [mediaType: string]: readonly RegExp[] };

/** Data by provider: `providerMetadata` of a part of an answer, which is sent back as its `providerOptions`. */
export type ProviderData = { readonly [provider: string]: { readonly [key: string]: unknown } };

/** Merges provider options. If both have the same key of a provider, `later` wins. */
export function mergedOptions(earlier: ProviderData, later: ProviderData): ProviderData {
  const merged: Record<string, ProviderData[string]> = { ...earlier };
  for (const [provider, data] of Object.entries(later)) merged[provider] = { ...merged[provider], ...data };
  return merged;
}

export interface CallOptions {
  /** `PromptMessage` has the exact type of the messages that this package creates. */
  readonly prompt: readonly { readonly role: string; readonly content: unknown }[];
  readonly tools?: readonly unknown[] | undefined;
  readonly toolChoice?: { readonly type: string; readonly toolName?: string } | undefined;
  /** Text, or JSON with a `schema`. */
  readonly responseFormat?: { readonly type: string } | undefined;
  readonly maxOutputTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly stopSequences?: readonly string[] | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly presencePenalty?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  readonly seed?: number | undefined;
  /** Only in specification 4. */
  readonly reasoning?: string | undefined;
  readonly abortSignal?: AbortSignal | undefined;
  readonly headers?: { readonly [name: string]: string | undefined } | undefined;
  readonly providerOptions?: ProviderData | undefined;
}

/** The provider's ids of an answer and of the model that created it. */
export interface ResponseMetadata {
  readonly id?: string | undefined;
  readonly modelId?: string | undefined;
}

export interface GenerateResult {
  readonly content: readonly ContentPart[];
  readonly finishReason: FinishReasonLike;
  readonly usage: UsageLike;
  readonly providerMetadata?: ProviderData | undefined;
  readonly response?: ResponseMetadata | undefined;
  readonly warnings: readonly unknown[];
}

/** Specification 2: a string. Specification 3 and 4: the SDK's reason (`unified`), and the provider's (`raw`). */
export type FinishReasonLike = string | { readonly unified: string; readonly raw?: string | undefined };

/** Tokens. Specification 2: numbers. Specification 3 and 4: objects with a number per kind. Any of them may be missing. */
export interface UsageLike extends Counts<'cachedInputTokens' | 'reasoningTokens'> {
  readonly inputTokens?: number | InputTokensLike | undefined;
  readonly outputTokens?: number | OutputTokensLike | undefined;
}

type Counts<Kind extends string> = { readonly [Each in Kind]?: number | undefined };
export type InputTokensLike = Counts<'total' | 'noCache' | 'cacheRead' | 'cacheWrite'>;
export type OutputTokensLike = Counts<'total' | 'text' | 'reasoning'>;

interface WithMetadata {
  readonly providerMetadata?: ProviderData | undefined;
}

export interface TextContent extends WithMetadata {
  readonly type: 'text' | 'reasoning';
  readonly text: string;
  /** Only in specification 4. */
  readonly citations?: readonly unknown[] | undefined;
}

interface ToolCallContent extends WithMetadata {
  readonly type: 'tool-call';
  readonly toolCallId: string;
  readonly toolName: string;
  /** JSON text, as the model wrote it. It may be invalid. */
  readonly input: string;
  readonly providerExecuted?: boolean | undefined;
}

/** Other parts: files, results of tools that the provider ran, and parts that only the provider understands. */
interface OtherContent extends WithMetadata {
  readonly type: 'file' | 'source' | 'reasoning-file' | 'tool-approval-request' | 'tool-result' | 'custom';
  readonly mediaType?: string | undefined;
  readonly data?: unknown;
  readonly toolCallId?: string | undefined;
  /** For a result: `true` if another result follows. */
  readonly preliminary?: boolean | undefined;
  /** For a `custom` part: its type at the provider. */
  readonly kind?: string | undefined;
}

/** A part of an answer. */
export type ContentPart = TextContent | ToolCallContent | OtherContent;

/** A streamed part of a text or of reasoning. */
export interface TextPart extends WithMetadata {
  readonly type: `${TextContent['type']}-${'start' | 'delta' | 'end'}`;
  readonly id: string;
  readonly delta?: string | undefined;
  readonly citations?: readonly unknown[] | undefined;
}

/** A part of a streamed answer. */
export type StreamPart =
  | TextPart
  | {
      readonly type: 'tool-input-start';
      readonly id: string;
      readonly toolName: string;
      readonly providerExecuted?: boolean | undefined;
    }
  | { readonly type: 'tool-input-delta'; readonly id: string; readonly delta: string }
  | ToolCallContent
  | OtherContent
  | { readonly type: 'stream-start'; readonly warnings: readonly unknown[] }
  | ({ readonly type: 'response-metadata' } & ResponseMetadata)
  | { readonly type: 'tool-input-end' | 'raw' | 'ping' }
  | ({
      readonly type: 'finish';
      readonly usage: UsageLike;
      readonly finishReason: FinishReasonLike;
    } & WithMetadata)
  | { readonly type: 'error'; readonly error: unknown };

/** The part of `ReadableStream` that this package uses, compatible with the types of every library. */
export interface StreamLike<Part> {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Part | undefined }>;
    cancel(reason?: unknown): Promise<void>;
  };
}

/**
 * Checks that a value is a model of the AI SDK.
 *
 * @param owner The name of the function that received the value.
 * @throws {InvalidInputError} if it is not, for example if it is a model's name.
 */
export function refuseNoModel(model: AiSdkLanguageModel, owner: string): void {
  if (typeof model?.specificationVersion === 'string') return;
  const message = `must be a model of the AI SDK, not ${typeof model === 'string' ? JSON.stringify(model) : typeof model}`;
  const remedy = `Create one with a provider's package, for example @ai-sdk/openai: ${owner}(openai('gpt-5')).`;
  throw new InvalidInputError(`${owner} model`, [{ path: '', message }], { remedy });
}
