import { addUsage, type CompactionStep, type ManifestEntry, type Message, type Usage } from '@x/core';
import { othersTurn, unlessAborted } from '@x/core/internal';
import { errorLine } from '../conversation/text.js';
import type { Meter } from '../meter.js';
import {
  mustShrink,
  type Reducer,
  type ReducerContext,
  type Reduction,
  type ReductionTarget,
  unchanged,
  type View,
} from '../reducer.js';
import { repairPairs } from '../reducers/repair-pairs.js';
import { fits } from './budget.js';
import { problemWith } from './check-reduction.js';

/** The result of a run through the reducers. */
export interface CascadeResult {
  readonly view: View;
  readonly steps: readonly CompactionStep[];
  readonly manifest: readonly ManifestEntry[];
  /** Failures on the way, reducer by reducer. */
  readonly failures: readonly string[];
  readonly condensed: boolean;
  readonly usage: Usage | undefined;
  readonly modelCalls: number;
}

/**
 * Runs reducers from the first to the last, free ones before dear ones, until the view fits its budget. A step that
 * fails, or whose answer breaks a promise, leaves the view as it was; every step that worked is kept, so the cheap
 * stages count even where a dear one fails. Ends after one pass, and another one without a model at most.
 *
 * @throws the signal's reason when aborted.
 */
export async function runCascade(
  reducers: readonly Reducer[],
  start: View,
  budget: ReductionTarget,
  context: ReducerContext,
): Promise<CascadeResult> {
  /** Of two fates of a message the later one counts. */
  const fates = new Map<string, ManifestEntry>();
  const steps: CompactionStep[] = [];
  const failures: string[] = [];
  let view = start;
  let condensed = false;
  let usage: Usage | undefined;
  let modelCalls = 0;

  const run = async (reducer: Reducer, target: ReductionTarget, isFree = false) => {
    await othersTurn();
    context.signal?.throwIfAborted();
    const startedAt = performance.now();
    const reduction = await attempt(
      reducer,
      view,
      target,
      isFree ? { ...context, summarizer: undefined } : context,
    );
    context.signal?.throwIfAborted();

    const before = view;
    if (reduction.usage) usage = usage ? addUsage(usage, reduction.usage) : reduction.usage;
    if (reduction.usage && !reduction.isReported) context.work?.onUsage(reduction.usage);
    if (reduction.usage) modelCalls += reduction.modelCalls ?? 1;
    if (reduction.failure) failures.push(`${reducer.name}: ${reduction.failure}`);
    else if (reduction.messages !== view.messages) {
      view = withMessages(view, reduction.messages, context.meter);
      for (const fate of reduction.fates) fates.set(fate.messageId, { ...fate, reducer: reducer.name });
      condensed ||= reduction.condensed ?? false;
    }
    steps.push(stepOf(reducer.name, before, view, performance.now() - startedAt, reduction));
  };
  for (const reducer of reducers) {
    if (fits(view, budget, condensed)) break;
    if (context.isAhead && reducer.cost === 'llm') {
      // What another one would do cannot be known without a call.
      if (!reducer.prepare || reducer.prepare(view, budget, context)) break;
    } else await run(reducer, budget);
  }
  // A stage that waits until it saves more waits no longer where the request is still too large.
  for (const reducer of reducers) {
    if (budget.forced || budget.early || !mustShrink(view, budget)) break;
    if (reducer.cost === 'free' || reducer.worksInDryRun)
      await run(reducer, { ...budget, forced: true }, true);
  }
  // What reducers made and unmade in between has no entry.
  const manifest = start.messages.flatMap(({ id }) => fates.get(id) ?? []);
  return { view, steps, manifest, failures, condensed, usage, modelCalls };
}

/** The same request around another conversation. */
function withMessages(view: View, messages: readonly Message[], meter: Meter): View {
  return { messages, fixedTokens: view.fixedTokens, tokens: view.fixedTokens + meter.messages(messages) };
}

async function attempt(
  reducer: Reducer,
  view: View,
  budget: ReductionTarget,
  context: ReducerContext,
): Promise<Reduction> {
  if (context.dryRun && reducer.cost === 'llm' && !reducer.worksInDryRun) {
    return unchanged(view, 'would call a model: not run in a dry run');
  }
  let reduction: Reduction;
  try {
    reduction = await unlessAborted(reducer.reduce(view, budget, context), context.signal);
  } catch (error) {
    context.signal?.throwIfAborted();
    return { ...unchanged(view, ''), failure: errorLine(error) };
  }
  if (!Array.isArray(reduction?.messages) || !Array.isArray(reduction.fates)) {
    return { ...unchanged(view, ''), failure: 'it answered no reduction, which has messages and fates' };
  }
  if (reduction.failure || reduction.messages === view.messages)
    return { ...reduction, messages: view.messages };
  const problem = problemWith(view.messages, reduction, view.tokens <= budget.mostTokens);
  if (problem)
    return { ...reduction, messages: view.messages, failure: `its result was not used: ${problem}` };
  const tokens = withMessages(view, reduction.messages, context.meter).tokens;
  // A repair is needed whatever it costs, and a summary knows what it has to save.
  if (tokens > view.tokens && reducer !== repairPairs && !reduction.condensed) {
    return { ...reduction, messages: view.messages, note: 'would make the conversation larger' };
  }
  return reduction;
}

function stepOf(
  reducer: string,
  before: View,
  after: View,
  durationMs: number,
  { note, failure }: Reduction,
): CompactionStep {
  const remark = failure ?? note;
  return {
    reducer,
    messagesBefore: before.messages.length,
    messagesAfter: after.messages.length,
    tokensBefore: Math.round(before.tokens),
    tokensAfter: Math.round(after.tokens),
    durationMs: Math.round(durationMs * 1_000) / 1_000,
    ...(remark ? { note: remark } : {}),
  };
}
