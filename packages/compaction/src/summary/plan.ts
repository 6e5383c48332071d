import type { Message, Model } from '@x/core';
import type { Work } from '@x/core/internal';
import { pairingOf } from '@x/core/messages';
import { isUserRequest, latestUserRequest, startOfUnseen } from '../conversation/regions.js';
import { isByMessages, mustShrink } from '../stage.js';
import { BESIDE_NARRATIVE, type Candidate, type Composer, LEAST_SUMMARY } from './compose.js';
import { candidateCuts, type Partition } from './cut.js';
import { type Narrative, readSummaries } from './summary-message.js';
import { shortenAhead } from './user-words.js';

/** Minimum useful limit of a narrative, in tokens. No model can write four sections in less. */
const SHORTEST_NARRATIVE = 150;
/** The factor by which a narrative may exceed its limit, because its model counts with another tokenizer. */
export const TOLERANCE = 1.25;

/** Computes the maximum tokens of a narrative; 0 if there is no room for a useful one. */
export function maxNarrativeOf({ settings, budget, room, maxRecord }: Composer, writer: Model): number {
  const window = writer.contextWindow ?? budget.contextWindow;
  const share = Math.max(budget.enoughTokens / 4, maxRecord * (1 - BESIDE_NARRATIVE));
  const most = Math.floor(Math.min(settings.maxTokens, share, window / 4, room / 2));
  return most < SHORTEST_NARRATIVE ? 0 : most;
}

/** A part that a summary may replace. */
interface Choice {
  readonly part: Partition;
  /** The conversation with an empty summary. */
  readonly bare: Candidate;
  /** Maximum tokens of the summary. */
  readonly room: number;
  /** Maximum tokens of the request with that summary. */
  readonly limit: number;
  /** `true` if the cut follows the sizes in `keep`. */
  readonly isFloor: boolean;
  /** A note if fewer messages stay than `keep` requires. */
  readonly note: string | undefined;
}

/** A part that a summary with a narrative will replace. */
export interface NarrativePlan extends Choice {
  /** Maximum tokens of the narrative. The reduction saves enough with any narrative up to this length. */
  readonly maxNarrative: number;
}

/** Chooses the part that a narrative and a record will replace. Does not call a model. */
export function* planNarrative(composer: Composer, maxNarrative: number): Work<NarrativePlan | undefined> {
  const { settings, before, budget, view } = composer;
  const { saving } = settings;
  const reserve = maxNarrative + composer.maxRecord * BESIDE_NARRATIVE;
  for (const choice of choices(composer, reserve, budget.dueTokens)) {
    yield;
    if (choice === undefined) continue;
    const isFree = saving === false || isByMessages(view, budget);
    const least = isFree
      ? -Infinity
      : mustShrink(view, budget)
        ? 1
        : Math.max(before * saving.share, saving.tokens);
    const spare = (before - choice.bare.tokens - least) / TOLERANCE;
    const most = Math.floor(Math.min(maxNarrative, choice.room, spare));
    if (most >= SHORTEST_NARRATIVE) return { ...choice, maxNarrative: most };
    // `keep` takes precedence over a narrative.
    if (choice.isFloor) return undefined;
  }
  return undefined;
}

/**
 * Chooses a summary from the record and any existing narrative: the first that fits, else the smallest.
 *
 * @param narrative Default: the narrative of the earlier summaries.
 */
export function* planRecord(composer: Composer, narrative?: Narrative): Work<Candidate | undefined> {
  const { budget, view, maxRecord } = composer;
  const isDue = view.tokens > budget.dueTokens || isByMessages(view, budget);
  let best: Candidate | undefined;
  let silent: Candidate | undefined;
  for (const choice of choices(composer, maxRecord, budget.enoughTokens)) {
    yield;
    if (choice === undefined) continue;
    const { part, room, limit, note, isFloor } = choice;
    const told = narrative ?? readSummaries(part.previous).narrative;
    const candidate = { ...(yield* composer.compose(part, told, Math.min(room, maxRecord))), note };
    if (!composer.savesEnough(candidate)) continue;
    // An empty record loses the messages that it covers. It is accepted only if a reduction is due and the sizes in `keep` are kept.
    if ((candidate.tells || (isDue && isFloor)) && composer.total(candidate) <= limit) return candidate;
    if (!candidate.tells) {
      if (isDue && candidate.tokens < (silent?.tokens ?? composer.before)) silent = candidate;
    } else if (!best || candidate.tokens < best.tokens) best = candidate;
  }
  return best ?? silent;
}

/**
 * Yields the parts whose replacement saves enough, the smallest part first; `undefined` where the work may pause.
 *
 * @param reserve Tokens that the summary may need.
 * @param enough Maximum tokens of the request with the summary, unless `keep` needs more.
 */
function* choices(composer: Composer, reserve: number, enough: number): Generator<Choice | undefined> {
  const { view, budget, settings, context, maxRequests } = composer;
  const { messages } = view;
  for (const _ of shortenAhead(messages.filter(isUserRequest), maxRequests, context.meter)) yield;
  const isPinned = (message: Message) => message.role === 'system' || isUserRequest(message);
  const pinned = new Set(messages.filter(isPinned));
  const latest = messages[latestUserRequest(messages)];
  const most = maxRequests + (latest ? context.meter.message(latest) : 0);
  const front = Math.min(most, context.meter.messages(pinned));
  const chosen = context.upTo === undefined ? undefined : endOfGroup(messages, context.upTo);
  const cuts =
    chosen !== undefined
      ? { cuts: [{ start: chosen, isFloor: false }], floor: undefined }
      : candidateCuts(view, budget, settings, pinned, reserve + front, context.meter);
  const wanted = messages.length - (cuts.floor ?? messages.length);
  for (const [index, { start, isFloor }] of cuts.cuts.entries()) {
    yield;
    const part = composer.partition(start);
    yield;
    if (part.covered.length === 0) {
      // With `saving: false`, fewer messages than `keep` requires may stay only if the request is too large.
      if (!settings.saving && view.tokens <= enough) return;
      continue;
    }
    const bare = composer.bare(part);
    if (!composer.savesEnough(bare) || (isFloor && isDueAgain(composer, bare))) continue;
    const limit = isFloor ? budget.mostTokens : enough;
    const isLast = index === cuts.cuts.length - 1;
    if (!isLast && composer.total(bare) + (isFloor ? LEAST_SUMMARY : reserve) > limit) continue;
    // Shrink the summary before the messages that `keep` requires.
    const room = Math.max(LEAST_SUMMARY, (isFloor ? enough : Infinity) - composer.total(bare));
    const kept = part.tail.length;
    const note =
      kept < wanted
        ? `kept only the newest ${kept} of the ${wanted} messages that \`keep\` requires, because a request may have at most ${budget.mostTokens} tokens`
        : undefined;
    yield { part, bare, room, limit, isFloor, note };
  }
}

/** Largest share of a request that may remain if the next reduction would be due at once. */
const MOST_LEFT = 0.75;

/** Tests if the messages that `keep` requires are so large that the next reduction would be due at once. */
function isDueAgain(composer: Composer, bare: Candidate): boolean {
  const { budget, view, settings } = composer;
  const left = composer.total(bare) + LEAST_SUMMARY;
  const isWanted = settings.saving === false || budget.reason !== 'proactive_budget';
  if (isWanted || mustShrink(view, budget) || left <= budget.dueTokens) return false;
  return left > view.tokens * MOST_LEFT;
}

/**
 * Returns the index after a message and the results of its calls, before any result that no model has seen. Returns 0 if a call is open.
 */
export function endOfGroup(messages: readonly Message[], id: string): number {
  const index = messages.findIndex((message) => message.id === id);
  const group = pairingOf(messages).groups.find(({ start, end }) => start <= index && index < end);
  return Math.min(group === undefined || group.open ? 0 : group.end, startOfUnseen(messages));
}
