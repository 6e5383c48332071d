import type { JsonObject } from '../lib/json.js';
import type { ContentBlock, OpaqueBlock } from '../messages/content-block.js';
import type { Message } from '../messages/message.js';

/** The reasons why a model stops. `refusal`: the model declined to answer. */
export const FINISH_REASONS = [
  'stop',
  'tool-calls',
  'length',
  'content-filter',
  'refusal',
  'error',
  'other',
] as const;
/** The reason why a model stopped. */
export type FinishReason = (typeof FINISH_REASONS)[number];

/** Token counts as the provider reported them. */
export interface Usage {
  /** Includes tokens read from and written to the provider's cache. */
  readonly inputTokens: number;
  /** Includes tokens of reasoning. */
  readonly outputTokens: number;
  /** Input tokens read from the provider's cache. */
  readonly cachedInputTokens?: number | undefined;
  /** Input tokens written to the provider's cache. */
  readonly cacheWriteTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
}

/** Hints about a tool's effects, for compaction. Without them, compaction guesses from the tool's name. */
export interface ToolAnnotations {
  /** The tool changes nothing, so a call can be repeated safely. */
  readonly readOnly?: boolean | undefined;
  /** The tool may destroy data that cannot be restored, so a call should not be repeated. */
  readonly destructive?: boolean | undefined;
}

/** A tool as a model sees it. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema (draft 7) of the input. */
  readonly inputSchema: JsonObject;
  /** Hints for compaction. They are not sent to models. */
  readonly annotations?: ToolAnnotations | undefined;
}

/** The source of a file: a user, the model itself, or a tool's result. */
export type FileRole = 'user' | 'assistant' | 'tool';

/** The required form of an answer's text. */
export interface ResponseFormat {
  readonly type: 'json';
  /** JSON Schema (draft 7) of an object. */
  readonly schema: JsonObject;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
}

/** Whether the model may, must or must not call a tool, or which one it must call. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly tool: string };

/** A request to a model. */
export interface ModelRequest {
  readonly system?: string | undefined;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly maxOutputTokens?: number | undefined;
  readonly temperature?: number | undefined;
  /** Default `auto`. Some models reject `required` or a named tool while thinking is on. */
  readonly toolChoice?: ToolChoice | undefined;
  /** How much the model thinks. Most providers accept `none`, `minimal`, `low`, `medium` and `high`. */
  readonly reasoningEffort?: string | undefined;
  /** The model stops before it writes one of these texts. */
  readonly stopSequences?: readonly string[] | undefined;
  /** Settings for single providers, by provider name. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>> | undefined;
  /** The form of the answer. Models without `structuredOutput` may ignore it. The model may call tools before it answers. */
  readonly responseFormat?: ResponseFormat | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The complete answer of a model. */
export interface ModelResponse {
  readonly content: readonly ContentBlock[];
  readonly finishReason: FinishReason;
  /** Reported usage. `undefined` if the provider reported none or only zeros. */
  readonly usage?: Usage | undefined;
  readonly providerMetadata?: JsonObject | undefined;
  /** The provider's id of the answer. */
  readonly id?: string | undefined;
  /** The provider's name of the model that answered, often more exact than the requested one. */
  readonly model?: string | undefined;
}

/** A piece of a streamed answer. A stream ends with exactly one `response`, which contains the complete answer. */
export type ModelStreamPart =
  | { readonly type: 'text-delta'; readonly text: string }
  | { readonly type: 'thinking-delta'; readonly text: string }
  | {
      readonly type: 'tool-call-delta';
      readonly id: string;
      readonly name: string;
      readonly inputDelta: string;
    }
  | { readonly type: 'response'; readonly response: ModelResponse };

/** A request to a provider's own compaction, with the conversation to compact. */
export interface NativeCompactionRequest extends ModelRequest {
  /** Instructions of the caller, for example facts to keep. */
  readonly instructions?: string | undefined;
}

/** The result of a provider's own compaction. */
export interface NativeCompaction {
  /** The provider's items, with their tokens. They replace the conversation in a summary, next to a readable record. */
  readonly content: readonly OpaqueBlock[];
  readonly usage?: Usage | undefined;
}

/**
 * A language model. `generate` must throw `ContextOverflowError` if the request is too large, and a `retryable` `ModelError` for transient
 * failures. If the request is aborted, it must reject with the signal's reason.
 */
export interface Model {
  readonly id: string;
  /** Maximum number of tokens of a request and its answer together, if known. */
  readonly contextWindow?: number | undefined;
  /** The model follows `responseFormat`, even in requests with tools. Without it, structured output uses a tool instead. */
  readonly structuredOutput?: boolean | undefined;
  /**
   * Tests if the model accepts files of a media type, and of a size if one is given, in this role. A rejected file is replaced by a line
   * that describes it. Default: the model accepts all files.
   */
  accepts?(mediaType: string, role: FileRole, bytes?: number): boolean;
  generate(request: ModelRequest): Promise<ModelResponse>;
  stream?(request: ModelRequest): AsyncIterable<ModelStreamPart>;
  /**
   * The provider's own compaction of a conversation, if it has one. `generate` and `stream` send the resulting items instead of everything
   * before them, and omit items that they cannot read.
   */
  compact?(request: NativeCompactionRequest): Promise<NativeCompaction>;
}

/**
 * Removes invalid counts: NaN, negative, missing or too large. Returns `undefined` if the input or output count is invalid. The usage is
 * then estimated, as for a provider that reports none.
 */
export function soundUsage(usage: Usage | undefined): Usage | undefined {
  const counts = Object.entries(usage ?? {}).filter(
    ([, count]) => count >= 0 && count <= Number.MAX_SAFE_INTEGER,
  );
  const sound = Object.fromEntries(counts) as unknown as Usage;
  return sound.inputTokens === undefined || sound.outputTokens === undefined ? undefined : sound;
}

/** Returns the sum of two usages. Counts that both lack stay absent. */
export function addUsage(left: Usage, right: Usage): Usage {
  const sum = (a?: number, b?: number) =>
    a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0);
  return {
    inputTokens: left.inputTokens + right.inputTokens,
    outputTokens: left.outputTokens + right.outputTokens,
    cachedInputTokens: sum(left.cachedInputTokens, right.cachedInputTokens),
    cacheWriteTokens: sum(left.cacheWriteTokens, right.cacheWriteTokens),
    reasoningTokens: sum(left.reasoningTokens, right.reasoningTokens),
  };
}
