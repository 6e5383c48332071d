import { type Compactor, estimateCounter } from '@x/core';
import { notify, parseWith, wellFormed } from '@x/core/internal';
import { countMessages, countTool, type ToolDefinition } from '@x/core/messages';
import { type AgentCompactionOptions, agentCompactionSchema } from './agent-options.js';
import { Reductions } from './reductions.js';
import { fingerprints, type SdkMessage, toMessage } from './sdk-message.js';

/**
 * The compactor as `prepareStep` of `ToolLoopAgent`, `generateText` and `streamText`: before every step the conversation
 * is reduced when it is due. Between reductions each step sends the same beginning byte for byte. What was reduced is
 * found again by its content, also in later calls with the same history and, with `remember`, in other processes;
 * messages that were not altered stay the very objects they were. With `contextWindow` it learns from the usage of the
 * steps how the provider counts, also for later calls. The SDK reports a step's usage only to the next step of the same call.
 *
 * @example
 * ```ts
 * const compactor = createCompactor({ contextWindow: 400_000 });
 * await generateText({ model, messages, tools, prepareStep: prepareStepWith(compactor) });
 * ```
 * @throws {InvalidInputError} for options that do not fit.
 */
export function prepareStepWith(compactor: Compactor, options: AgentCompactionOptions = {}) {
  const { onCompaction, system, remember, contextWindow, tools } = parseWith(
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
    });
    if (reduced.outcome.status !== 'skipped') notify('onCompaction', onCompaction, reduced.outcome);
    // Providers refuse half of a character in every later request too.
    return { messages: reduced.messages.map(wellFormed) };
  };
}

/** Instructions as version 7 of the SDK hands them over: a text, a system message, or several. */
function textIn(instructions: unknown): string | undefined {
  if (typeof instructions === 'string') return instructions;
  if (Array.isArray(instructions)) return instructions.map(textIn).join('\n');
  const { content } = (instructions ?? {}) as { readonly content?: unknown };
  return typeof content === 'string' ? content : undefined;
}

/** A step that is over, as `prepareStep` is told of it. */
interface FinishedStep {
  readonly usage?:
    | {
        readonly inputTokens?: number | undefined;
        /** Some providers of version 5 leave these out of `inputTokens`. Later ones report `noCacheTokens`, too. */
        readonly cachedInputTokens?: number | undefined;
        readonly inputTokenDetails?: { readonly noCacheTokens?: number | undefined } | undefined;
      }
    | undefined;
}

/** A count that is off by more than this is of something else than the messages: of tools that nobody told of, of a cache. */
const [LEAST, MOST_OF_MESSAGES, MOST] = [0.5, 2, 4];

/** Returns the provider's tokens for each token that is counted here: as the last step reports it, or as an earlier call learned it. */
function ratioIn(contextWindow: number, ...request: Parameters<typeof usageRatio>): number {
  const [reductions, messages, steps] = request;
  const now = usageRatio(...request);
  // In a small request, most of what the provider counts may be tools that are not counted here.
  const isLarge = (steps.at(-1)?.usage?.inputTokens ?? 0) * 4 > contextWindow;
  const learned = now !== undefined && isLarge ? within(now, MOST_OF_MESSAGES) : undefined;
  const last = reductions.ratio(messages, contextWindow, learned);
  return now ?? last ?? 1;
}

/**
 * Returns the provider's tokens for each token that is counted here of a conversation; `undefined` if no usage was reported. What the
 * provider counted of the last request holds as it is, and tells how it counts what came since.
 */
function usageRatio(
  reductions: Reductions,
  messages: readonly SdkMessage[],
  steps: readonly FinishedStep[],
  {
    system,
    tools,
  }: { readonly system?: string | undefined; readonly tools?: readonly ToolDefinition[] | undefined },
): number | undefined {
  const { inputTokens: reported = 0, cachedInputTokens = 0, inputTokenDetails } = steps.at(-1)?.usage ?? {};
  // What the step was sent ends where its answer begins.
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
  // A count that is far too low leaves out what was written to a cache.
  if (known < sent * LEAST) return undefined;
  const added = count(messages.slice(before), fingerprints(messages).slice(before));
  const came = added * within(known / Math.max(1, sent), MOST_OF_MESSAGES);
  return within((known + came) / Math.max(1, sent + added), MOST);
}

function within(ratio: number, most: number): number {
  return Math.min(most, Math.max(LEAST, ratio));
}
