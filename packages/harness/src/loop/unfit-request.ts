import { ContextOverflowError, type ReasonScope } from '@x/core';
import { weightOf } from './heavy-request.js';
import type { RunningCall } from './running-call.js';

/** Creates the error for a request that compaction could not make fit. It says what fills the window. */
export function unfitRequest(call: RunningCall, scope: ReasonScope, cause: unknown): ContextOverflowError {
  const { lastRescue } = call;
  const { model, state } = scope;
  const reported = ContextOverflowError.isInstance(cause) ? cause : undefined;
  const contextWindow = reported?.contextWindow ?? model.contextWindow;
  const usage = { ...call.measure(scope), contextWindow };
  const { system, tools, reminders, total } = usage;
  const window = contextWindow === undefined ? '' : ` (${contextWindow} tokens)`;
  const weight = weightOf(state.context);
  const heavy = weight === undefined ? '' : ` It has ${weight}.`;
  const message =
    `The request does not fit the context window of ${model.id}${window}, and compaction could not make it fit ` +
    `(${lastRescue?.status}: ${lastRescue?.message}). By estimate it has ${total} tokens: system prompt ${system}, tool schemas ${tools}, ` +
    `messages ${total - system - tools - reminders}, reminders ${reminders}.${heavy} Shorten the largest of these, or use a model with a ` +
    'larger window. The conversation is stored.';
  return new ContextOverflowError(message, {
    cause,
    modelId: model.id,
    inputTokens: reported?.inputTokens,
    contextWindow,
    usage,
  });
}
