import {
  CapabilityError,
  type JsonObject,
  type Model,
  type ModelRequest,
  type ModelStreamPart,
} from '@x/core';
import { callable, having, isObject, notify, parseWith, sendableTool, unlessAborted } from '@x/core/internal';
import {
  type FileRole,
  type NativeCompaction,
  type NativeCompactionRequest,
  sendable,
} from '@x/core/messages';
import * as z from 'zod';
import type { ProviderCompaction } from './compact/provider-compaction.js';
import { cutOff, toModelError, webPage } from './errors/to-model-error.js';
import {
  type AiSdkLanguageModel,
  type CallOptions,
  mergedOptions,
  type ProviderData,
  type ResponseMetadata,
  refuseNoModel,
} from './language-model.js';
import { googleSchema } from './prompt/google-schema.js';
import { type PromptTarget, providerFamily } from './prompt/prompt.js';
import { isAccepted, rulesOf } from './prompt/provider-rules.js';
import { type ResolveFile, resolveFiles } from './prompt/resolve-files.js';
import { toPrompt } from './prompt/to-prompt.js';
import { ContentAssembler } from './response/content-assembler.js';
import { hasNoReason, toResponse } from './response/to-response.js';

const fromAiSdkOptionsSchema = z.strictObject({
  /** The model's id in events and errors. Default `<provider>:<modelId>`. */
  id: z.string().min(1).optional(),
  /**
   * The model's context window in tokens. The AI SDK does not report it. Without it, compaction assumes 128 000 tokens, and a request
   * that the provider shortens silently is not detected.
   */
  contextWindow: z.int().positive().optional(),
  /**
   * Set `true` if the provider can enforce a JSON Schema together with tools. An agent then uses it for `output`; otherwise it uses a
   * tool. A provider's strict mode may reject optional fields. Default false.
   */
  structuredOutput: z.boolean().optional(),
  maxOutputTokens: z.int().positive().optional(),
  temperature: z.number().optional(),
  topP: z.number().optional(),
  topK: z.number().optional(),
  presencePenalty: z.number().optional(),
  frequencyPenalty: z.number().optional(),
  seed: z.int().optional(),
  stopSequences: z.array(z.string()).readonly().optional(),
  /** Reasoning effort, `'none'` to `'max'`, for models of AI SDK specification 4. For older ones, use `providerOptions`. */
  reasoning: z.string().optional(),
  /** By provider, as in the AI SDK; for example `{ anthropic: { cacheControl: { type: 'ephemeral' } } }`. */
  providerOptions: z
    .custom<ProviderData>(
      (value) => isObject(value) && Object.values(value).every(isObject),
      'must have an object for each provider',
    )
    .optional(),
  headers: z.record(z.string(), z.string()).optional(),
  /** Tools that the provider runs: `{ type: 'provider', id, name, args }`. */
  providerTools: z.array(z.custom<JsonObject>(isObject, 'must be an object')).readonly().optional(),
  /** The provider's own compaction: `openaiCompaction` or `anthropicCompaction`. Default: none. */
  compact: z.optional(having<ProviderCompaction>('compact', 'openaiCompaction() or anthropicCompaction()')),
  /** Loads files that the provider cannot load: those in the workspace, of other providers, and URLs that it does not fetch. */
  resolveFile: z.optional(callable<ResolveFile>()),
  /**
   * Returns whether the model can read a file, by media type, role of the message, and size in bytes. Other files are replaced by a line
   * with their name. Default: as documented by the provider; for unknown providers PNG, JPEG, GIF and WebP.
   */
  accepts: z.optional(callable<(mediaType: string, role: FileRole, bytes?: number) => boolean>()),
  /** Receives the provider's warnings, for example about an unsupported setting. Default: warnings are ignored. */
  onWarning: z.optional(callable<(warning: unknown) => void>()),
});

/** Options of {@link fromAiSdk}. A request's own settings, such as `maxOutputTokens`, override them. */
export type FromAiSdkOptions = Readonly<z.input<typeof fromAiSdkOptionsSchema>>;

const VERSIONS: readonly string[] = ['v2', 'v3', 'v4'];

/**
 * Makes a `Model` from an AI SDK language model (specification 2, 3 or 4), with streaming. Provider metadata of an answer (signatures,
 * encrypted reasoning, item ids) is sent back unchanged with the next request.
 *
 * Calls throw `ContextOverflowError` if the request is too large, and `ModelError` with `retryable` and `retryAfterMs` if the provider
 * fails. A file that cannot be sent is replaced by a line with its name, and `onWarning` is called.
 *
 * @example
 * ```ts
 * const model = fromAiSdk(openai('gpt-5'), { contextWindow: 400_000 });
 * ```
 * @throws {InvalidInputError} for invalid options.
 * @throws {InvalidInputError} if `model` is not an AI SDK model, for example a string.
 * @throws {CapabilityError} for a model of another version of the specification.
 */
export function fromAiSdk(model: AiSdkLanguageModel, options: FromAiSdkOptions = {}): Model {
  // Long because the methods of the model share its settings.
  refuseNoModel(model, 'fromAiSdk');
  const settings = parseWith(fromAiSdkOptionsSchema, options, 'fromAiSdk options');
  const {
    id: givenId,
    contextWindow,
    structuredOutput = false,
    resolveFile,
    onWarning,
    compact,
    providerTools = [],
    accepts = (mediaType, role, bytes) => isAccepted(target.rules, mediaType, role, bytes),
    ...callSettings
  } = settings;
  requireSupported(model, compact);
  const { provider } = model;
  const id = givenId ?? `${provider}:${model.modelId}`;
  const described = { id, provider, contextWindow };
  const target: PromptTarget = {
    specificationVersion: model.specificationVersion,
    provider,
    rules: rulesOf(model),
    compactedPart: compact?.partOf,
    providerTools: new Map(providerTools.map(({ name, id }) => [String(name), String(id)])),
  };
  const warn = (warnings: readonly unknown[] = []) => {
    for (const warning of warnings) notify('onWarning', onWarning, warning);
  };

  async function toCall(request: ModelRequest): Promise<CallOptions> {
    request.signal?.throwIfAborted();
    const given = compact?.view(request.messages, provider) ?? request.messages;
    const onReplaced = (line: string) => warn([line]);
    const readable = sendable(given, self, onReplaced);
    const files = { model, reader: self, resolve: resolveFile, signal: request.signal, onReplaced };
    const messages = sendable(await resolveFiles(readable, files), self, onReplaced);
    const prompt = toPrompt({ ...request, messages }, target);
    return { ...callSettings, prompt, ...callOptionsOf(request, callSettings, target, providerTools) };
  }

  function failed(error: unknown, request: ModelRequest): unknown {
    return toModelError(error, { modelId: id, contextWindow, signal: request.signal });
  }

  const self: Model = {
    id,
    contextWindow,
    structuredOutput,
    accepts,

    async generate(request) {
      try {
        const result = await unlessAborted(model.doGenerate(await toCall(request)), request.signal);
        warn(result.warnings);
        return toResponse(result, described);
      } catch (error) {
        throw failed(error, request);
      }
    },

    async *stream(request): AsyncGenerator<ModelStreamPart> {
      try {
        yield* streamed(model, await toCall(request), described, warn);
      } catch (error) {
        throw failed(error, request);
      }
    },

    ...(compact && {
      async compact(request: NativeCompactionRequest): Promise<NativeCompaction> {
        try {
          return await unlessAborted(compact.compact(model, await toCall(request), request), request.signal);
        } catch (error) {
          throw failed(error, request);
        }
      },
    }),
  };
  return self;
}

/** @throws {CapabilityError} if the model has another version of the specification, or does not support the compaction. */
function requireSupported(model: AiSdkLanguageModel, compact: ProviderCompaction | undefined): void {
  if (!VERSIONS.includes(model.specificationVersion)) {
    throw new CapabilityError(
      `AI SDK specification ${model.specificationVersion}`,
      `${model.provider} ${model.modelId} implements version ${model.specificationVersion} of the AI SDK's ` +
        `specification; @x/ai-sdk supports ${VERSIONS.join(', ')}. Install a matching version of either package.`,
    );
  }
  if (compact !== undefined && !compact.supports(model)) {
    throw new CapabilityError('compaction', `${compact.name} does not support models of ${model.provider}.`);
  }
}

/** Streams an answer: its deltas, then the whole response. */
async function* streamed(
  model: AiSdkLanguageModel,
  call: CallOptions,
  described: Parameters<typeof toResponse>[1],
  warn: (warnings: readonly unknown[]) => void,
): AsyncGenerator<ModelStreamPart> {
  const { abortSignal } = call;
  const answer = await unlessAborted(model.doStream(call), abortSignal);
  const reader = answer.stream.getReader();
  const assembler = new ContentAssembler();
  let response: ResponseMetadata = {};
  try {
    const page = webPage(described.id, answer.response?.headers);
    if (page !== undefined) throw page;
    for (;;) {
      const { done, value: part } = await unlessAborted(reader.read(), abortSignal);
      if (done || part === undefined) throw cutOff(described.id);
      if (part.type === 'error') throw part.error;
      if (part.type === 'stream-start') warn(part.warnings);
      if (part.type === 'response-metadata') response = { ...response, ...definedOf(part) };
      const delta = assembler.add(part);
      if (delta !== undefined) yield delta;
      if (part.type !== 'finish') continue;
      if (hasNoReason(part.finishReason)) throw cutOff(described.id);
      const { content } = assembler;
      yield { type: 'response', response: toResponse({ ...part, content, response }, described) };
      return;
    }
  } finally {
    // Frees the connection if the reader leaves early. The result of the cancellation is ignored.
    reader.cancel().catch(() => {});
  }
}

/** Converts the settings of a request, without its messages, to call options of the SDK. */
function callOptionsOf(
  request: ModelRequest,
  settings: Pick<FromAiSdkOptions, 'providerOptions'>,
  target: PromptTarget,
  providerTools: readonly JsonObject[],
): Omit<CallOptions, 'prompt'> {
  const { maxOutputTokens, temperature, responseFormat, stopSequences, signal } = request;
  const functions = request.tools.map((given) => {
    const { annotations: _, ...tool } = sendableTool(given);
    const { inputSchema } = tool;
    const isGoogle = providerFamily(target.provider) === 'google';
    return { type: 'function', ...tool, inputSchema: isGoogle ? googleSchema(inputSchema) : inputSchema };
  });
  return {
    ...(functions.length + providerTools.length === 0 ? {} : { tools: [...functions, ...providerTools] }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(stopSequences === undefined ? {} : { stopSequences }),
    ...toolChoiceOf(request),
    ...providerOptionsOf(request, settings.providerOptions, target),
    ...(responseFormat === undefined ? {} : { responseFormat }),
    ...(signal === undefined ? {} : { abortSignal: signal }),
  };
}

function definedOf({ id, modelId }: ResponseMetadata): ResponseMetadata {
  return { ...(id === undefined ? {} : { id }), ...(modelId === undefined ? {} : { modelId }) };
}

function toolChoiceOf({ toolChoice, tools }: ModelRequest): Pick<CallOptions, 'toolChoice'> {
  if (toolChoice === undefined || tools.length === 0) return {};
  if (typeof toolChoice === 'string') return { toolChoice: { type: toolChoice } };
  return { toolChoice: { type: 'tool', toolName: toolChoice.tool } };
}

/** The provider options that set the reasoning effort, by the provider's family. */
const EFFORT: Readonly<Record<string, (effort: string) => ProviderData>> = {
  anthropic: (effort) => ({ anthropic: { effort } }),
  azure: (reasoningEffort) => ({ openai: { reasoningEffort } }),
  google: (thinkingLevel) => ({ google: { thinkingConfig: { thinkingLevel } } }),
};

/** Merges the options of the request over those of the model. From specification 4 on, reasoning effort is a separate call option. */
function providerOptionsOf(
  { providerOptions = {}, reasoningEffort }: ModelRequest,
  own: ProviderData = {},
  { provider, specificationVersion }: PromptTarget,
): Pick<CallOptions, 'providerOptions' | 'reasoning'> {
  const family = providerFamily(provider);
  const isOption = reasoningEffort !== undefined && specificationVersion !== 'v4';
  const thinks = (EFFORT[family] ?? ((effort) => ({ [family]: { reasoningEffort: effort } })))(
    reasoningEffort ?? '',
  );
  const options = [isOption ? thinks : {}, providerOptions].reduce(mergedOptions, own);
  return {
    ...(Object.keys(options).length === 0 ? {} : { providerOptions: options }),
    ...(reasoningEffort === undefined || isOption ? {} : { reasoning: reasoningEffort }),
  };
}
