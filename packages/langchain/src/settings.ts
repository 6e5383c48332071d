import type { BaseLanguageModel } from '@langchain/core/language_models/base';
import { initChatModel } from 'langchain';
import { windowOf } from './chat-model.js';
import type {
  CompactionMiddlewareOptions,
  CompactionMiddlewareSettings,
  MiddlewareSize,
} from './middleware-options.js';

const DEFAULT_KEEP: MiddlewareSize = { messages: 20 };
const DEFAULT_PREFIX = 'Here is a summary of the conversation to date:';

/** The settings of one run. Its context takes precedence over the options of the middleware. */
export type ResolvedSettings = Awaited<ReturnType<typeof resolveSettings>>;

/** Resolves a run's settings: loads a model that is set by name, and reads a model profile that may not have been available earlier. */
export async function resolveSettings(
  options: CompactionMiddlewareOptions,
  context: CompactionMiddlewareSettings,
) {
  const model =
    typeof options.model === 'string'
      ? ((await initChatModel(options.model)) as BaseLanguageModel)
      : options.model;
  const trigger = context.trigger ?? options.trigger;
  return {
    options,
    model,
    /** The agent's window in tokens, if it is known by now. */
    window: options.contextWindow ?? (model === undefined ? undefined : windowOf(model)),
    /** `undefined` if the user set no trigger. */
    trigger: trigger === undefined ? undefined : ([trigger].flat() as MiddlewareSize[]),
    keep: context.keep ?? options.keep ?? DEFAULT_KEEP,
    tokenCounter: context.tokenCounter ?? options.tokenCounter,
    summaryPrompt: context.summaryPrompt ?? options.summaryPrompt,
    summaryPrefix: context.summaryPrefix ?? options.summaryPrefix ?? DEFAULT_PREFIX,
    trimTokensToSummarize: context.trimTokensToSummarize ?? options.trimTokensToSummarize,
  };
}
