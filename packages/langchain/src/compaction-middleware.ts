import { randomUUID } from 'node:crypto';
import { type BaseMessage, RemoveMessage } from '@langchain/core/messages';
import { type CompactOptions, type Compactor, isContextOverflow, parseWith } from '@x/core';
import { createMiddleware, initChatModel } from 'langchain';
import type { CompactionConfig } from '../config/compaction-config.js';
import { fromChatModel, windowOf } from './chat-model.js';
import { Conditions, shareOf } from './conditions.js';
import { fromMessage } from './from-message.js';
import { type CompactionMiddlewareOptions, middlewareOptionsSchema } from './middleware-options.js';
import { Recalled } from './recalled.js';
import { toMessage } from './to-message.js';

/** LangGraph's word for a message that removes all others. */
const REMOVE_ALL = '__remove_all__';

/**
 * The compactor as middleware of `createAgent`, in the place of `summarizationMiddleware`, whose options it takes. Before a
 * model call the messages of the state are reduced when a trigger is reached; when the provider says that a request does
 * not fit its window, they are reduced and the call is made once more. A summary that cannot be used never replaces
 * messages, and messages that were not altered stay the very objects they were.
 *
 * @throws {InvalidInputError} naming every option that is unknown or contradicts another.
 */
export function compactionMiddleware(options: CompactionMiddlewareOptions = {}) {
  parseWith(middlewareOptionsSchema, options, 'compactionMiddleware options');
  const { model, onCompaction, summaryPrefix } = options;
  const recalled = new Recalled();
  // A model that is there is checked at once; one that has to be loaded, at the first call.
  let conditions: Promise<Conditions> | undefined;
  if (typeof model !== 'string') conditions = Promise.resolve(conditionsOf(options, model));
  const ready = () => {
    conditions ??= initChatModel(model as string).then((loaded) => conditionsOf(options, loaded));
    return conditions;
  };

  async function reduce(
    compactor: Compactor,
    sources: readonly BaseMessage[],
    compactOptions: CompactOptions,
  ): Promise<readonly BaseMessage[] | undefined> {
    const outcome = await compactor.compact(sources.map(toMessage), compactOptions);
    onCompaction?.(outcome);
    if (outcome.status !== 'applied') return undefined;
    const originals = new Map(sources.map((source) => [source.id, source]));
    return outcome.messages.map((message) => fromMessage(message, originals.get(message.id), summaryPrefix));
  }

  return createMiddleware({
    name: 'CompactionMiddleware',
    beforeModel: async (state) => {
      for (const message of state.messages) message.id ??= randomUUID();
      const current = recalled.apply(state.messages);
      const due = await (await ready()).due(current, current.map(toMessage));
      const reason = due?.forced ? 'manual' : 'proactive_budget';
      const reduced = due && (await reduce(due.compactor, current, { reason }));
      const next = reduced ?? current;
      if (next === state.messages) return undefined;
      return { messages: [new RemoveMessage({ id: REMOVE_ALL }), ...next] };
    },
    wrapModelCall: async (request, handler) => {
      try {
        return await handler(request);
      } catch (error) {
        if (!isOverflow(error)) throw error;
        const { systemMessage, messages } = request;
        const system = systemMessage?.text;
        const reduced = await reduce((await ready()).any, messages, {
          reason: 'request_too_large',
          ...(system ? { system } : {}),
        });
        if (reduced === undefined) throw error;
        recalled.remember(messages, reduced);
        return await handler({ ...request, messages: [...reduced] });
      }
    },
  });
}

function conditionsOf(
  options: CompactionMiddlewareOptions,
  model: Exclude<CompactionMiddlewareOptions['model'], string>,
): Conditions {
  const window = options.contextWindow ?? (model === undefined ? undefined : windowOf(model));
  const {
    summaryPrompt,
    messagesToKeep,
    keep = messagesToKeep === undefined ? {} : { messages: messagesToKeep },
  } = options;
  const keepTokens =
    keep.fraction === undefined ? keep.tokens : shareOf(keep.fraction, window, 'keep.fraction');
  const base: CompactionConfig = {
    ...options.compaction,
    ...(model === undefined ? {} : { model: fromChatModel(model) }),
    ...(window === undefined ? {} : { contextWindow: window }),
    ...(summaryPrompt === undefined ? {} : { summaryPrompt }),
    ...(keep.messages === undefined ? {} : { keepMessages: keep.messages }),
    ...(keepTokens === undefined ? {} : { keepTokens: Math.max(1, Math.floor(keepTokens)) }),
  };
  return new Conditions(options, base, window);
}

/** LangChain has an error class of its own for it, too. */
function isOverflow(error: unknown): boolean {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    if (at.name === 'ContextOverflowError') return true;
  }
  return isContextOverflow(error);
}
