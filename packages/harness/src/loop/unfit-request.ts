import {
  ContextOverflowError,
  type ContextUsage,
  type Message,
  type ReasonScope,
  toolResultsOf,
} from '@x/core';
import { countMessage } from '@x/core/messages';
import { weightOf } from './heavy-request.js';
import type { RunningCall } from './running-call.js';

/** Creates the error for a request that compaction could not make fit. It names what fills the window and suggests a remedy. */
export function unfitRequest(call: RunningCall, scope: ReasonScope, cause: unknown): ContextOverflowError {
  const { lastRescue } = call;
  const { model, state } = scope;
  const reported = ContextOverflowError.isInstance(cause) ? cause : undefined;
  const contextWindow = reported?.contextWindow ?? model.contextWindow;
  const usage = { ...call.measure(scope), contextWindow };
  const ratio = call.tokenRatio();
  const largest = largestOf(state.context, (message) =>
    Math.round(countMessage(call.options.parts.counter, message) * ratio),
  );
  const window = contextWindow === undefined ? '' : ` (${contextWindow} tokens)`;
  const weight = weightOf(state.context);
  const heavy = weight === undefined ? '' : ` Its size is ${weight}.`;
  const message =
    `The request does not fit the context window of ${model.id}${window}, and compaction could not make it fit ` +
    `(${lastRescue?.status}: ${lastRescue?.message}). ${contents(usage, largest)}${heavy} ${remedy(usage, largest)} The ` +
    'conversation is stored.';
  return new ContextOverflowError(message, {
    cause,
    modelId: model.id,
    inputTokens: reported?.inputTokens,
    contextWindow,
    usage,
  });
}

interface Largest {
  /** A description of the message. */
  readonly what: string;
  readonly tokens: number;
  readonly isResult: boolean;
}

function contents({ system, tools, reminders, total }: ContextUsage, largest: Largest | undefined): string {
  const messages = total - system - tools - reminders;
  const most = largest === undefined ? '' : ` (the largest, ${largest.what}: ${largest.tokens})`;
  const others = reminders === 0 ? '' : `, reminders ${reminders}`;
  return `By estimate it has ${total} tokens: system prompt ${system}, tool schemas ${tools}, messages ${messages}${most}${others}.`;
}

/** Suggests a remedy for the largest part of the request. */
function remedy({ system, tools, reminders, total }: ContextUsage, largest: Largest | undefined): string {
  const messages = total - system - tools - reminders;
  const alternative = 'or use a model with a larger window.';
  if (system >= Math.max(tools, messages)) {
    return `Shorten the system prompt and what capabilities add to it, ${alternative}`;
  }
  if (tools >= messages) {
    return `Offer fewer tools, or keep them in toolGroups() until they are needed, ${alternative}`;
  }
  if (largest === undefined || largest.tokens * 2 < messages) {
    return `Let compaction keep less, ${alternative}`;
  }
  return largest.isResult
    ? `Let toolResultEviction() put large results into files, or the tool return less, ${alternative}`
    : `Send it in smaller parts, or put the text into a file that the agent reads in parts, ${alternative}`;
}

function largestOf(messages: readonly Message[], count: (message: Message) => number): Largest | undefined {
  let largest: { readonly message: Message; readonly tokens: number } | undefined;
  for (const message of messages) {
    const tokens = count(message);
    if (tokens > (largest?.tokens ?? 0)) largest = { message, tokens };
  }
  if (largest === undefined) return undefined;
  const { message, tokens } = largest;
  const names = [...new Set(toolResultsOf(message).map(({ toolName }) => toolName))];
  const isResult = names.length > 0;
  const place = message === messages.at(-1) ? 'the newest, ' : '';
  const kind = isResult
    ? `results of ${names.join(', ')}`
    : message.kind === 'summary'
      ? 'the summary'
      : `from the ${message.role}`;
  return { what: `${place}${kind}`, tokens, isResult };
}
