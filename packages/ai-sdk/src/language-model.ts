import { InvalidInputError } from '@x/core';

/**
 * The AI SDK's language models as far as this package uses them, versions 2, 3 and 4 of the specification in one
 * structure. Described here rather than imported, so that every version of the SDK fits and none has to be installed.
 */
export interface AiSdkLanguageModel {
  readonly specificationVersion: 'v2' | 'v3' | 'v4';
  /** For example `anthropic.messages`. */
  readonly provider: string;
  readonly modelId: string;
  /** Patterns of URLs that the model fetches by itself, by media type. */
  readonly supportedUrls: PromiseLike<SupportedUrls> | SupportedUrls;
  doGenerate(options: CallOptions): PromiseLike<GenerateResult>;
  doStream(options: CallOptions): PromiseLike<{
    readonly stream: StreamLike<StreamPart>;
    readonly response?: { readonly headers?: { readonly [name: string]: string } | undefined } | undefined;
  }>;
}

export type SupportedUrls = { readonly [mediaType: string]: readonly RegExp[] };

/** What a provider attaches to a part of its answer (`providerMetadata`) and wants back with it (`providerOptions`). */
export type ProviderData = { readonly [provider: string]: { readonly [key: string]: unknown } };

/** Both, by provider; `later` wins. */
export function mergedOptions(earlier: ProviderData, later: ProviderData): ProviderData {
  const merged: Record<string, ProviderData[string]> = { ...earlier };
  for (const [provider, data] of Object.entries(later)) merged[provider] = { ...merged[provider], ...data };
  return merged;
}

export interface CallOptions {
  /** Exact only in what this package writes: see `PromptMessage`. */
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
  /** V4. */
  readonly reasoning?: string | undefined;
  readonly abortSignal?: AbortSignal | undefined;
  readonly headers?: { readonly [name: string]: string | undefined } | undefined;
  readonly providerOptions?: ProviderData | undefined;
}

/** The provider's names for an answer and for the model that gave it. */
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

/** V2: a word. V3 and V4: a word and the provider's own. */
export type FinishReasonLike = string | { readonly unified: string; readonly raw?: string | undefined };

/** V2: numbers. V3 and V4: numbers by kind. Any of them may be missing. */
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
  /** V4. */
  readonly citations?: readonly unknown[] | undefined;
}

interface ToolCallContent extends WithMetadata {
  readonly type: 'tool-call';
  readonly toolCallId: string;
  readonly toolName: string;
  /** JSON, as the model wrote it. */
  readonly input: string;
  readonly providerExecuted?: boolean | undefined;
}

/** What is carried, or read by core: files, results of tools that the provider ran itself, a provider's own parts. */
interface OtherContent extends WithMetadata {
  readonly type: 'file' | 'source' | 'reasoning-file' | 'tool-approval-request' | 'tool-result' | 'custom';
  readonly mediaType?: string | undefined;
  readonly data?: unknown;
  readonly toolCallId?: string | undefined;
  /** Of a result: whether a final one follows. */
  readonly preliminary?: boolean | undefined;
  /** Of a provider's own part. */
  readonly kind?: string | undefined;
}

/** A part of an answer. */
export type ContentPart = TextContent | ToolCallContent | OtherContent;

/** A part of a text or of a thought. */
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

/** What is needed of a `ReadableStream`, whichever library's types describe it. */
export interface StreamLike<Part> {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Part | undefined }>;
    cancel(reason?: unknown): Promise<void>;
  };
}

/**
 * Refuses what is no model of the SDK, such as a model's name.
 *
 * @param owner The function that it was given to.
 * @throws {InvalidInputError} always then.
 */
export function refuseNoModel(model: AiSdkLanguageModel, owner: string): void {
  if (typeof model?.specificationVersion === 'string') return;
  const message = `is ${typeof model === 'string' ? JSON.stringify(model) : typeof model}, not a model of the AI SDK`;
  const remedy = `Make one with a provider's package: ${owner}(openai('gpt-5')) with @ai-sdk/openai.`;
  throw new InvalidInputError(`${owner} model`, [{ path: '', message }], { remedy });
}
