import type { BaseLanguageModel } from '@langchain/core/language_models/base';
import { AIMessage, HumanMessage, SystemMessage, type UsageMetadata } from '@langchain/core/messages';
import { type FinishReason, type Message, type Model, type ModelResponse, textOf } from '@x/core';

/** LangChain leaves calls with this tag out of the stream of an agent's messages. */
const INTERNAL_TAG = 'nostream';

/** A LangChain model as the writer of summaries: text in, text out. */
export function fromChatModel(model: BaseLanguageModel): Model {
  const contextWindow = windowOf(model);
  return {
    id: model._modelType?.() ?? 'langchain',
    ...(contextWindow === undefined ? {} : { contextWindow }),
    async generate({ system, messages, signal }) {
      const prompt = [...(system === undefined ? [] : [new SystemMessage(system)]), ...messages.map(spoken)];
      const options = { tags: [INTERNAL_TAG], metadata: { lc_source: 'summarization' } };
      const answer: unknown = await model.invoke(prompt, { ...options, ...(signal ? { signal } : {}) });
      return AIMessage.isInstance(answer) ? toResponse(answer) : said(String(answer));
    },
  };
}

/** The window in the profile of a model, in tokens. */
export function windowOf(model: object): number | undefined {
  const { profile } = model as { readonly profile?: { readonly maxInputTokens?: unknown } | null };
  return typeof profile?.maxInputTokens === 'number' ? profile.maxInputTokens : undefined;
}

function spoken(message: Message): HumanMessage | AIMessage {
  return message.role === 'assistant' ? new AIMessage(textOf(message)) : new HumanMessage(textOf(message));
}

function toResponse(answer: AIMessage): ModelResponse {
  const { text, tool_calls: calls = [], response_metadata: metadata } = answer;
  const usage = answer.usage_metadata as UsageMetadata | undefined;
  const { finish_reason, stop_reason, finishReason } = metadata as Record<string, unknown>;
  const toolUses = calls.map(({ id = '', name, args }) => ({
    type: 'tool_use' as const,
    id,
    name,
    input: args,
  }));
  return {
    content: [{ type: 'text', text }, ...toolUses],
    finishReason:
      toolUses.length > 0 ? 'tool-calls' : toFinishReason(finish_reason ?? stop_reason ?? finishReason),
    ...(usage && { usage: { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens } }),
  };
}

function said(text: string): ModelResponse {
  return { content: [{ type: 'text', text }], finishReason: 'stop' };
}

/** Providers have words of their own; what is none of those for an unfinished answer is a finished one. */
function toFinishReason(reason: unknown): FinishReason {
  const word = String(reason).toLowerCase();
  if (/length|max_?tokens|context_window/.test(word)) return 'length';
  return /filter|refusal|safety|blocked|recitation/.test(word) ? 'content-filter' : 'stop';
}
