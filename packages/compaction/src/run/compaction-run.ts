import type {
  CompactionOutcome,
  CompactionStatus,
  CompactOptions,
  ManifestEntry,
  Message,
  Pin,
  PinProof,
} from '@x/core';
import { holdsFile, othersTurn } from '@x/core/internal';
import type { ResolvedCompactionConfig } from '../config/groups.js';
import { isPinBoard, withoutBoards } from '../conversation/marks.js';
import { redactorFor } from '../conversation/redaction.js';
import { errorLine } from '../conversation/text.js';
import type { Meter } from '../meter.js';
import {
  isByMessages,
  isHeavy,
  isHeavyInText,
  isTooLong,
  mustShrink,
  type ReductionTarget,
  type Stage,
  type StageContext,
  type View,
} from '../stage.js';
import { savesEnough, savesMessages } from '../stages/alter-messages.js';
import { reduceMedia } from '../stages/reduce-media.js';
import { needsRepair, repairPairs } from '../stages/repair-pairs.js';
import type { ModelWork } from '../summary/narrative-desk.js';
import { Patience } from '../summary/patience.js';
import { budgetFor, type ContextWindow, contextWindowOf, isDue } from './budget.js';
import { type CascadeResult, runCascade } from './cascade.js';
import { sharedId } from './check-request.js';
import { pinBoard, pinsOf, pinsWithin, proofOf, roomForPins, withPins } from './pins.js';

/** The input of one run. */
interface RunInput
  extends Pick<StageContext, 'meter' | 'summarizer' | 'model' | 'live' | 'isAhead' | 'dryRun'> {
  readonly config: ResolvedCompactionConfig;
  readonly stages: readonly Stage[];
  readonly messages: readonly Message[];
  readonly options: CompactOptions & { readonly reminders?: readonly Message[] };
  /** The context window, if the caller has a better value than options, configuration and model. */
  readonly window?: ContextWindow | undefined;
  /** `true` if the provider reported the size of the request that it rejected. */
  readonly isMeasured?: boolean | undefined;
  /** Runs the model calls and receives their usage and warnings. */
  readonly work: Omit<ModelWork, 'patience'>;
  /** Called with every message if no reduction is due, so that stages can prepare their work. */
  readonly observe?: ((message: Message) => void) | undefined;
}

/** If a conversation is below both limits (tokens, share of the window), a manual compaction leaves it unchanged. */
const TRIFLE = { tokens: 200, share: 0.01 };

/** Reduces a conversation once. Never throws: after a failure, it returns an outcome with the original list. */
export async function runCompaction(input: RunInput): Promise<CompactionOutcome> {
  try {
    return await reduceOnce(input);
  } catch (error) {
    return unchangedOutcome('failed', errorLine(error), input.messages, 0);
  }
}

async function reduceOnce(input: RunInput): Promise<CompactionOutcome> {
  // Long because it is a sequence of early returns that share variables.
  const { config, stages: all, messages, options, observe, window: known, isMeasured, ...given } = input;
  const startedAt = performance.now();
  const { meter, model, isAhead } = given;
  const { reason = 'manual', system, tools, reminders, signal } = options;
  const window = known ?? contextWindowOf(options.contextWindow, config.contextWindow, model?.contextWindow);
  const contextWindow = window.tokens;
  const frame = meter.frame({ system, tools, reminders });
  const wanted = pinsOf(messages, options.pins ?? [], config.keep.match ?? []);
  const pins = pinsWithin(wanted, roomForPins(contextWindow, frame), (message) => meter.message(message));
  // The stages leave room for the pins, but never see them.
  const fixedTokens = frame + (pins.length > 0 ? meter.message(pinBoard(pins)) : 0);
  const said = withoutBoards(messages);
  const tokens = fixedTokens + meter.messages(said);
  // Frozen, because a custom stage could mutate it.
  const view: View = { messages: Object.freeze(said), fixedTokens, tokens };
  const budget = budgetFor(config, reason, contextWindow, view.tokens, isMeasured);

  const before = { ...view, messages, tokens: frame + meter.messages(messages) };
  const report = reporter(before, startedAt, (messages) => withPins(messages, pins), wanted, meter);

  if (signal?.aborted) return report('aborted', abortReason(signal));
  const isOtherwiseDue = budget.forced || isAhead || isDue(config, window, before.tokens, messages.length);
  const isTooHeavy = isHeavy(view, budget);
  const due = isOtherwiseDue || isTooHeavy;
  const stages = due ? all : all.filter((stage) => stage.isDueEarly?.(view, budget));
  if (!due && observe) for (const message of messages) observe(message);
  if (stages.length === 0) return report('skipped', 'no trigger is reached');
  if (messages.length === 0) return report('skipped', 'there are no messages');
  if (due && fixedTokens >= contextWindow) return report('failed', tooLargeFrame(fixedTokens, budget));

  // Each pass over a long conversation takes milliseconds, so other tasks run between them.
  await othersTurn();
  const shared = sharedId(messages);
  if (shared !== undefined) {
    return report(
      'failed',
      `two messages have the id ${JSON.stringify(shared)}: give each message its own id`,
    );
  }

  const { upTo } = options;
  if (upTo !== undefined && !messages.some(({ id }) => id === upTo)) {
    return report('failed', `no message of the conversation has the id ${JSON.stringify(upTo)} (upTo)`);
  }
  const broken = needsRepair(messages);
  // A compaction removes pins that no longer fit.
  const hasPinsToRemove = meter.messages(withPins(messages, pins)) < meter.messages(messages);
  const conversation = view.tokens - fixedTokens;
  if (
    budget.forced &&
    config.saving &&
    !broken &&
    !hasPinsToRemove &&
    conversation < Math.min(TRIFLE.tokens, contextWindow * TRIFLE.share)
  ) {
    return report(
      'ineffective',
      `the conversation has only ${Math.round(conversation)} tokens, so compacting it is not worthwhile`,
    );
  }

  const patience = new Patience(Math.min(config.summary.waitMs, input.work.modelMs || Infinity));
  try {
    const hasFiles = messages.some(({ content }) => content.some(holdsFile));
    const isOnlyForFiles = isTooHeavy && !isOtherwiseDue && !isHeavyInText(view, budget);
    const steps = [
      ...(broken ? [repairPairs] : []),
      ...(isTooHeavy || (isTooLong(view, budget, isAhead) && hasFiles) ? [reduceMedia] : []),
      ...(isOnlyForFiles ? [] : stages),
    ];
    const originals = new Map(messages.map((message) => [message.id, message]));
    const context = {
      ...options,
      ...given,
      work: { ...given.work, patience },
      conversation: messages,
      redact: redactorFor(config.redact),
      original: (message: Message) => originals.get(message.id) ?? message,
    };
    const result = await runCascade(steps, view, { ...budget, early: !due }, context);
    await othersTurn();
    return judge(config, view, budget, result, report, { due, broken, hasPinsToRemove });
  } catch (error) {
    if (signal?.aborted) return report('aborted', abortReason(signal));
    return report('failed', errorLine(error));
  } finally {
    patience.stop();
  }
}

type Report = (status: CompactionStatus, why: string, result?: CascadeResult) => CompactionOutcome;

/** Makes the function that builds outcomes. */
function reporter(
  before: View,
  startedAt: number,
  complete: (messages: readonly Message[]) => readonly Message[],
  pins: readonly Pin[],
  meter: Meter,
): Report {
  return (status, why, result) => {
    const applied = status === 'applied' ? result : undefined;
    const messages = applied ? complete(applied.view.messages) : before.messages;
    const proof = proofOf(pins, messages);
    const present = proof.filter(({ heldBy }) => heldBy !== undefined).length;
    return {
      status,
      message: pins.length > 0 ? `${why}; ${present} of ${pins.length} pins present` : why,
      messages,
      steps: result?.steps ?? [],
      tokensBefore: Math.round(before.tokens),
      tokensAfter: Math.round(
        applied ? before.tokens - meter.messages(before.messages) + meter.messages(messages) : before.tokens,
      ),
      messagesBefore: before.messages.length,
      messagesAfter: messages.length,
      durationMs: Math.round((performance.now() - startedAt) * 1_000) / 1_000,
      manifest: applied ? manifestOf(applied, before.messages, proof) : [],
      ...(pins.length > 0 ? { pins: proof } : {}),
      ...(result?.usage ? { usage: result.usage, modelCalls: result.modelCalls } : {}),
    };
  };
}

/** Lists the fates of messages. A removed message whose text is pinned has the fate `pinned`; earlier pin boards have `merged`. */
function manifestOf(
  { manifest }: CascadeResult,
  before: readonly Message[],
  pins: readonly PinProof[],
): readonly ManifestEntry[] {
  const held = new Set(pins.flatMap(({ messageId, heldBy }) => (heldBy === undefined ? [] : messageId)));
  const boards = before.filter(isPinBoard);
  return [
    ...manifest.map((entry) => (held.has(entry.messageId) ? { ...entry, fate: 'pinned' as const } : entry)),
    ...boards.map(({ id }) => ({ messageId: id, fate: 'merged' as const, stage: 'pins' })),
  ];
}

function judge(
  config: ResolvedCompactionConfig,
  before: View,
  budget: ReductionTarget,
  result: CascadeResult,
  report: Report,
  { due, broken, hasPinsToRemove }: { due: boolean; broken: boolean; hasPinsToRemove: boolean },
): CompactionOutcome {
  const { view, failures, steps } = result;
  const worked = steps.filter(
    (step) => step.tokensAfter < step.tokensBefore || step.messagesAfter < step.messagesBefore,
  );
  if (!due) {
    if (view.messages === before.messages) return report('skipped', 'no trigger is reached');
    return report('applied', `reduced early by ${worked.map((step) => step.stage).join(', ')}`, result);
  }
  const repaired = broken && !needsRepair(view.messages);
  if (view.messages === before.messages) {
    if (failures.length > 0) return report('failed', failures.join('; '), result);
    if (view.tokens > budget.contextWindow) return report('ineffective', irreducible(view, budget), result);
    if (hasPinsToRemove) return report('applied', 'removed pins that no longer fit', result);
    const notes = steps.flatMap((step) => (step.note ? `${step.stage}: ${step.note}` : []));
    return report('ineffective', `no stage could shrink the conversation (${notes.join('; ')})`, result);
  }
  if (view.tokens > budget.contextWindow) return report('ineffective', irreducible(view, budget), result);
  const conversation = (of: View) => of.tokens - of.fixedTokens;
  const fitsNow = view.tokens <= budget.dueTokens && before.tokens > budget.dueTokens;
  const isLighter = isHeavy(before, budget) && !isHeavy(view, budget);
  const isNeeded =
    repaired || fitsNow || isLighter || (mustShrink(before, budget) && view.tokens < before.tokens);
  const isEnough =
    savesEnough(conversation(before), conversation(view), config.saving) ||
    (isByMessages(before, budget) &&
      savesMessages(before.messages.length, view.messages.length, config.saving));
  if (!isNeeded && !isEnough) {
    return report('ineffective', 'the compaction would save less than the minimum `saving`', result);
  }
  const how = worked.map((step) => (step.note ? `${step.stage} (${step.note})` : step.stage));
  const trouble = failures.length > 0 ? `; ${failures.join('; ')}` : '';
  const done =
    how.length > 0
      ? `reduced by ${how.join(', ')}`
      : 'repaired tool calls without results or results without calls';
  return report('applied', `${done}${trouble}`, result);
}

function tooLargeFrame(fixed: number, { contextWindow }: ReductionTarget): string {
  return (
    `the system prompt and tools need ${Math.round(fixed)} of ${contextWindow} tokens, so compacting the conversation cannot help. ` +
    'Shorten them or use a model with a larger window'
  );
}

function irreducible({ tokens, fixedTokens }: View, { contextWindow }: ReductionTarget): string {
  return (
    `after every stage, the request still has ${Math.round(tokens)} tokens, but the window only ${contextWindow}. The system prompt, ` +
    `tools and reminders have ${Math.round(fixedTokens)}, messages that must stay ${Math.round(tokens - fixedTokens)}. ` +
    'Shorten the newest messages, move large tool results into files (tool_result_eviction), or use a larger window'
  );
}

function abortReason(signal: AbortSignal): string {
  return `aborted: ${errorLine(signal.reason ?? 'no reason given')}`;
}

/** Makes the outcome of a compaction that changed nothing. */
export function unchangedOutcome(
  status: CompactionStatus,
  reason: string,
  messages: readonly Message[],
  tokens: number,
): CompactionOutcome {
  return {
    status,
    message: reason,
    messages,
    steps: [],
    tokensBefore: tokens,
    tokensAfter: tokens,
    messagesBefore: messages.length,
    messagesAfter: messages.length,
    durationMs: 0,
    manifest: [],
  };
}
