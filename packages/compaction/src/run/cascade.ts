import { addUsage, type CompactionStep, type ManifestEntry, type Message, type Usage } from '@x/core';
import { othersTurn, same, unlessAborted } from '@x/core/internal';
import { errorLine } from '../conversation/text.js';
import type { Meter } from '../meter.js';
import {
  mustShrink,
  type Reduction,
  type ReductionTarget,
  type Stage,
  type StageContext,
  unchanged,
  type View,
} from '../stage.js';
import { reduceMedia } from '../stages/reduce-media.js';
import { repairPairs } from '../stages/repair-pairs.js';
import { endOfGroup } from '../summary/plan.js';
import { fits } from './budget.js';
import { problemWith } from './check-reduction.js';

/** The result of a run through the stages, with the failures in their order. */
export type CascadeResult = Awaited<ReturnType<typeof runCascade>>;

/**
 * Runs the stages in order until the view fits its budget. A step that fails, or whose result is invalid, leaves the view unchanged. Every
 * successful step is kept, so cheap stages count even if an expensive one fails. Ends after one pass, plus at most one without a model.
 *
 * @throws the signal's reason when aborted.
 */
export async function runCascade(
  stages: readonly Stage[],
  start: View,
  budget: ReductionTarget,
  context: StageContext,
) {
  /** The manifest entry of each message. If two stages changed a message, the later entry wins. */
  const fates = new Map<string, ManifestEntry>();
  const steps: CompactionStep[] = [];
  const failures: string[] = [];
  const { upTo } = context;
  /** Ids of the messages that no stage may change. */
  const behind = new Set(
    upTo === undefined ? [] : start.messages.slice(endOfGroup(start.messages, upTo)).map(({ id }) => id),
  );
  let view = start;
  let condensed = false;
  let usage: Usage | undefined;
  let modelCalls = 0;

  const run = async (stage: Stage, target: ReductionTarget, isFree = false) => {
    await othersTurn();
    context.signal?.throwIfAborted();
    const startedAt = performance.now();
    const reduction = await attempt(
      stage,
      view,
      behind,
      target,
      isFree ? { ...context, summarizer: undefined } : context,
    );
    context.signal?.throwIfAborted();

    const before = view;
    if (reduction.usage) usage = usage ? addUsage(usage, reduction.usage) : reduction.usage;
    if (reduction.usage && !reduction.isReported) context.work.onUsage(reduction.usage);
    if (reduction.usage) modelCalls += reduction.modelCalls ?? 1;
    if (reduction.failure) failures.push(`${stage.name}: ${reduction.failure}`);
    else if (reduction.messages !== view.messages) {
      view = withMessages(view, reduction.messages, context.meter);
      for (const fate of reduction.fates) fates.set(fate.messageId, { ...fate, stage: stage.name });
      condensed ||= reduction.condensed ?? false;
    }
    steps.push(stepOf(stage.name, before, view, performance.now() - startedAt, reduction));
  };
  for (const stage of stages) {
    // The list contains these two only if they are necessary.
    const isNecessary = stage === repairPairs || stage === reduceMedia;
    if (!isNecessary && fits(view, budget, condensed)) break;
    if (context.isAhead && stage.cost === 'llm') {
      // The effect of another stage cannot be known without a model call.
      if (!stage.prepare || stage.prepare(view, budget, context)) break;
    } else await run(stage, budget);
  }
  // If the request is still too large, also run the stages that skip small savings.
  for (const stage of stages) {
    if (budget.forced || budget.early || !mustShrink(view, budget)) break;
    if (stage.cost === 'free' || stage.worksInDryRun) await run(stage, { ...budget, forced: true }, true);
  }
  // Only messages of the original list get entries. A stage may have removed a message that another stage added.
  const manifest = start.messages.flatMap(({ id }) => fates.get(id) ?? []);
  return { view, steps, manifest, failures, usage, modelCalls };
}

/** Returns the view with another conversation. */
function withMessages(view: View, messages: readonly Message[], meter: Meter): View {
  return { messages, fixedTokens: view.fixedTokens, tokens: view.fixedTokens + meter.messages(messages) };
}

/** Reduces the messages in front of those `behind`, which count as fixed. */
async function reduceFront(
  view: View,
  behind: ReadonlySet<string>,
  meter: Meter,
  reduce: (front: View) => Promise<Reduction>,
): Promise<Reduction> {
  const end = view.messages.findIndex(({ id }) => behind.has(id));
  if (end === -1) return reduce(view);
  const [messages, rest] = [view.messages.slice(0, end), view.messages.slice(end)];
  const fixedTokens = view.fixedTokens + meter.messages(rest);
  const reduction = await reduce({ messages, fixedTokens, tokens: view.tokens });
  const isSame = reduction.messages === messages;
  return { ...reduction, messages: isSame ? view.messages : [...reduction.messages, ...rest] };
}

async function attempt(
  stage: Stage,
  view: View,
  behind: ReadonlySet<string>,
  budget: ReductionTarget,
  context: StageContext,
): Promise<Reduction> {
  if (context.dryRun && stage.cost === 'llm' && !stage.worksInDryRun) {
    return unchanged(view, 'would call a model: not run in a dry run');
  }
  let reduction: Reduction;
  let problem: string | undefined;
  try {
    const reduce = (part: View) => unlessAborted(stage.reduce(part, budget, context), context.signal);
    // A summary reads what stays, and keeps it itself.
    const isWhole = stage.cost === 'llm' || stage === repairPairs;
    reduction = await (isWhole ? reduce(view) : reduceFront(view, behind, context.meter, reduce));
    if (!Array.isArray(reduction?.messages) || !Array.isArray(reduction.fates))
      throw new Error('it did not return an object with messages and fates');
    if (reduction.failure || same(view.messages, reduction.messages) === view.messages)
      return { ...reduction, messages: view.messages };
    await othersTurn();
    problem = problemWith(view.messages, reduction, view.tokens <= budget.mostTokens);
    await othersTurn();
  } catch (error) {
    context.signal?.throwIfAborted();
    return { ...unchanged(view, ''), failure: errorLine(error) };
  }
  if (problem)
    return { ...reduction, messages: view.messages, failure: `its result was not used: ${problem}` };
  const tokens = withMessages(view, reduction.messages, context.meter).tokens;
  // A repair may add tokens, and a summary checks its own saving.
  if (tokens > view.tokens && stage !== repairPairs && !reduction.condensed) {
    return { ...reduction, messages: view.messages, note: 'would make the conversation larger' };
  }
  return reduction;
}

function stepOf(
  stage: string,
  before: View,
  after: View,
  durationMs: number,
  { note, failure, author }: Reduction,
): CompactionStep {
  const remark = failure ?? note;
  return {
    stage,
    messagesBefore: before.messages.length,
    messagesAfter: after.messages.length,
    tokensBefore: Math.round(before.tokens),
    tokensAfter: Math.round(after.tokens),
    durationMs: Math.round(durationMs * 1_000) / 1_000,
    ...(remark ? { note: remark } : {}),
    ...(author ? { author } : {}),
  };
}
