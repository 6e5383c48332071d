import { type Compactor, estimateCounter } from '@x/core';
import { notify, parseWith, wellFormed } from '@x/core/internal';
import { countMessages, countTool, type ToolDefinition } from '@x/core/messages';
import { type AgentCompactionOptions, agentCompactionSchema } from './agent-options.js';
import { Reductions } from './reductions.js';
import { fingerprints, type SdkMessage, toMessage } from './sdk-message.js';

/**
 * Returns a `prepareStep` function for `ToolLoopAgent`, `generateText` and `streamText`. Before each step, it compacts the conversation
 * if a trigger of the compactor is reached.
 *
 * - Until the next compaction, all requests begin with the same bytes, so the provider's prompt cache stays valid.
 * - A compacted conversation is recognized by its content: in later calls with the same history and, with `remember`, in other processes.
 * - Unchanged messages stay the same objects.
 * - With `contextWindow`, the function learns from the usage of each step how the provider counts tokens, and uses this in later calls,
 *   too. The SDK reports the usage of a step only to the next step of the same call.
 *
 * @example
 * ```ts
 * const compactor = createCompactor({ contextWindow: 400_000 });
 * await generateText({ model, messages, tools, prepareStep: prepareStepWith(compactor) });
 * ```
 * @throws {InvalidInputError} for unknown or invalid options, or if `compactor` is not a compactor.
 * @throws {CapabilityError} if the store in `remember` has no collections.
 */
export function prepareStepWith(compactor: Compactor, options: AgentCompactionOptions = {}) {
  const { onCompaction, onUsage, system, remember, contextWindow, tools } = parseWith(
    agentCompactionSchema,
    options,
    'prepareStepWith options',
  );
  const reductions = new Reductions(compactor, remember);
  return async <Message extends SdkMessage>({
    messages,
    instructions,
    steps = [],
  }: {
    readonly messages: readonly Message[];
    readonly instructions?: unknown;
    readonly steps?: readonly FinishedStep[];
  }): Promise<{ messages: Message[] }> => {
    if (steps.length === 0) await reductions.recollect(messages);
    const frame = { system: system ?? textIn(instructions), tools };
    const reduced = await reductions.reduce(messages, {
      ...frame,
      ...(contextWindow === undefined
        ? {}
        : { contextWindow, tokenRatio: ratioIn(contextWindow, reductions, messages, steps, frame) }),
      reason: 'proactive_budget',
      onUsage,
    });
    if (reduced.outcome.status !== 'skipped') notify('onCompaction', onCompaction, reduced.outcome);
    // Replace lone surrogates, because providers would reject this request and every later one.
    return { messages: reduced.messages.map(wellFormed) };
  };
}

/** Returns the text of instructions. Version 7 of the SDK passes them as a text, a system message, or a list of system messages. */
function textIn(instructions: unknown): string | undefined {
  if (typeof instructions === 'string') return instructions;
  if (Array.isArray(instructions)) return instructions.map(textIn).join('\n');
  const { content } = (instructions ?? {}) as { readonly content?: unknown };
  return typeof content === 'string' ? content : undefined;
}

/** A completed step, as the SDK passes it to `prepareStep`. */
interface FinishedStep {
  readonly usage?:
    | {
        readonly inputTokens?: number | undefined;
        /** Some providers of version 5 do not include these in `inputTokens`. Later versions also report `noCacheTokens`. */
        readonly cachedInputTokens?: number | undefined;
        readonly inputTokenDetails?: { readonly noCacheTokens?: number | undefined } | undefined;
      }
    | undefined;
}

/**
 * Limits for the ratio of the provider's token count to ours. Messages alone cause ratios from `MIN_RATIO` to `MAX_RATIO_OF_MESSAGES`. Tools
 * that are missing in the options can raise the ratio to `MAX_RATIO`. Ratios outside of the limits have other causes, such as a cache.
 */
const [MIN_RATIO, MAX_RATIO_OF_MESSAGES, MAX_RATIO] = [0.5, 2, 4];

/** Returns the provider's tokens per token of our counter: from the usage of the last step, or else as an earlier call learned it. */
function ratioIn(contextWindow: number, ...request: RatioRequest): number {
  const [reductions, messages, steps] = request;
  // In a small request, most of the provider's tokens may be those of tools that are missing in the options.
  const isLarge = (steps.at(-1)?.usage?.inputTokens ?? 0) * 4 > contextWindow;
  const last = reductions.ratio(messages, contextWindow) ?? 1;
  const now = usageRatio(isLarge ? undefined : last, ...request);
  if (now !== undefined && isLarge)
    reductions.ratio(messages, contextWindow, within(now, MAX_RATIO_OF_MESSAGES));
  return now ?? last;
}

type RatioRequest = readonly [
  reductions: Reductions,
  messages: readonly SdkMessage[],
  steps: readonly FinishedStep[],
  frame: { readonly system?: string | undefined; readonly tools?: readonly ToolDefinition[] | undefined },
];

/**
 * Returns the provider's tokens per token of our counter for a conversation, or `undefined` if no usage was reported. The last request is
 * counted as the provider reported it. Newer messages are counted here, and scaled.
 *
 * @param ofNewer The ratio for newer messages. Default: that of the last request.
 */
function usageRatio(
  ofNewer: number | undefined,
  ...[reductions, messages, steps, { system, tools }]: RatioRequest
): number | undefined {
  const { inputTokens: reported = 0, cachedInputTokens = 0, inputTokenDetails } = steps.at(-1)?.usage ?? {};
  // The last request contains the messages before the step's answer.
  const before = messages.findLastIndex(({ role }) => role === 'assistant');
  if (reported === 0 || before <= 0) return undefined;
  const count = (some: readonly SdkMessage[], ids = fingerprints(some)) =>
    countMessages(
      estimateCounter,
      some.map((message, at) => toMessage(message, ids[at] ?? '')),
    );
  let sent = count(reductions.recall(messages.slice(0, before)));
  if (system !== undefined) sent += estimateCounter.count(system);
  for (const tool of tools ?? []) sent += countTool(estimateCounter, tool);
  const cached = inputTokenDetails?.noCacheTokens === undefined ? cachedInputTokens : 0;
  const known = Math.max(reported, Math.min(sent, reported + cached));
  // The reported number is far too low, because it does not include tokens written to a cache.
  if (known < sent * MIN_RATIO) return undefined;
  const added = count(messages.slice(before), fingerprints(messages).slice(before));
  const came = added * (ofNewer ?? within(known / Math.max(1, sent), MAX_RATIO_OF_MESSAGES));
  return within((known + came) / Math.max(1, sent + added), MAX_RATIO);
}

function within(ratio: number, most: number): number {
  return Math.min(most, Math.max(MIN_RATIO, ratio));
}
