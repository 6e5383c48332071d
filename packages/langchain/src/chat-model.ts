import { type BaseLanguageModel, getModelContextSize } from '@langchain/core/language_models/base';
import { AIMessage, type MessageContent, type UsageMetadata } from '@langchain/core/messages';
import { mergeConfigs, type RunnableConfig } from '@langchain/core/runnables';
import { type FinishReason, type Model, type ModelResponse, textOf } from '@x/core';
import { wellFormed } from '@x/core/internal';

/** LangChain does not stream the messages of calls with this tag. */
const INTERNAL_TAG = 'nostream';

/**
 * Adapts a LangChain model to write summaries. Sends one text, as LangChain's own middleware does, and returns the text of the answer.
 *
 * @param run The run that the calls belong to. The calls get its metadata, tags and callbacks.
 */
export function fromChatModel(model: BaseLanguageModel, run: RunnableConfig): Model {
  const contextWindow = windowOf(model);
  return {
    id: nameOf(model) ?? model.getName?.() ?? 'langchain',
    ...(contextWindow === undefined ? {} : { contextWindow }),
    async generate({ system, messages, signal }) {
      const texts = [...(system === undefined ? [] : [system]), ...messages.map(textOf)];
      const call = mergeConfigs(run, {
        tags: [INTERNAL_TAG],
        metadata: { lc_source: 'summarization' },
        ...(signal === undefined ? {} : { signal }),
      });
      return toResponse(await model.invoke(wellFormed(texts.join('\n\n')), call));
    },
  };
}

/** Returns the context window of a model in tokens, from its profile or by its name. */
export function windowOf(model: object): number | undefined {
  const { profile } = model as { readonly profile?: { readonly maxInputTokens?: unknown } | null };
  if (profile && 'maxInputTokens' in profile) {
    return typeof profile.maxInputTokens === 'number' ? profile.maxInputTokens : undefined;
  }
  const name = nameOf(model);
  return name === undefined ? undefined : getModelContextSize(name);
}

/** Returns a model's name. Does not use the model type, which is the same for all chat models. */
function nameOf(model: object): string | undefined {
  const { model: name, modelName } = model as { readonly model?: unknown; readonly modelName?: unknown };
  return [name, modelName].find((value) => typeof value === 'string');
}

/** Converts an answer. Some models return a plain text or a plain object. */
function toResponse(answer: unknown): ModelResponse {
  if (typeof answer === 'string') return { content: [{ type: 'text', text: answer }], finishReason: 'stop' };
  const { content, tool_calls, response_metadata, usage_metadata } = answer as {
    readonly content?: MessageContent;
    readonly tool_calls?: AIMessage['tool_calls'];
    readonly response_metadata?: Readonly<Record<string, unknown>>;
    readonly usage_metadata?: UsageMetadata;
  };
  const { finish_reason, stop_reason, finishReason } = response_metadata ?? {};
  const toolUses = (tool_calls ?? []).map(({ id = '', name, args }) => ({
    type: 'tool_use' as const,
    id,
    name,
    input: args,
  }));
  return {
    content: [
      { type: 'text', text: content === undefined ? '' : new AIMessage({ content }).text },
      ...toolUses,
    ],
    finishReason:
      toolUses.length > 0 ? 'tool-calls' : toFinishReason(finish_reason ?? stop_reason ?? finishReason),
    ...(usage_metadata && {
      usage: { inputTokens: usage_metadata.input_tokens, outputTokens: usage_metadata.output_tokens },
    }),
  };
}

/** Converts a finish reason, which each provider names differently. Unknown reasons count as a complete answer. */
function toFinishReason(reason: unknown): FinishReason {
  const word = String(reason).toLowerCase();
  if (/length|max_?tokens|context_window/.test(word)) return 'length';
  return /filter|refusal|safety|blocked|recitation/.test(word) ? 'content-filter' : 'stop';
}
