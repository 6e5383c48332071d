import { addUsage, type Message, type Model, TimeLimitError } from '@x/core';
import { atOnce, inPieces } from '@x/core/internal';
import { pairingOf } from '@x/core/messages';
import { isUserRequest, startOfUnseen } from '../conversation/regions.js';
import { type Reduction, unchanged } from '../stage.js';
import { askProvider } from './ask-provider.js';
import { type Candidate, type Composer, condensed } from './compose.js';
import { isResting, noteEnd, restOf } from './model-rest.js';
import type { Found, Writing } from './narrative-desk.js';
import { maxNarrativeOf, type NarrativePlan, planNarrative, planRecord } from './plan.js';
import { quotableIn, withoutFalseQuotations } from './quotations.js';
import { isNarrative, isOfSummary, type Narrative, readSummaries } from './summary-message.js';
import { isVerbatim } from './user-words.js';
import { writeNarrative } from './write-narrative.js';

/** Share that one request may fill of the summarizing model's window, less the tokens of the narrative. */
const READABLE = 0.8;

/** The result of asking a model for a narrative. */
interface Attempt {
  readonly candidate?: Candidate | undefined;
  /** A summary that rules wrote, with room for the narrative that follows later. */
  readonly meanwhile?: Candidate | undefined;
  readonly note?: string | undefined;
  readonly problem?: string | undefined;
  readonly spent?: Spent | undefined;
}

/** The usage of model calls, already reported when they ended. */
type Spent = Pick<Reduction, 'usage' | 'modelCalls' | 'isReported'>;

/** Returns what a narrative has cost so far, and sets its cost to zero, so that nothing is reported twice. */
function spentOn(writing: Writing): Spent {
  const { usage, modelCalls } = writing;
  Object.assign(writing, { usage: undefined, modelCalls: 0 });
  return usage ? { usage, modelCalls, isReported: true } : {};
}

function sumOf(one: Spent, other: Spent = {}): Spent {
  if (!one.usage || !other.usage) return one.usage ? one : other;
  const modelCalls = (one.modelCalls ?? 0) + (other.modelCalls ?? 0);
  return { usage: addUsage(one.usage, other.usage), modelCalls, isReported: true };
}

/**
 * Replaces the older part of a view with a summary. Asks the model for a narrative, unless one was started ahead of time, and waits at most
 * `summary.waitMs`. If the model is late or fails, the record alone is the summary, unless `fallback` is `none`.
 */
export async function summarizeView(composer: Composer): Promise<Reduction> {
  const { settings, view, context } = composer;
  const { work } = context;
  const writer = context.dryRun ? undefined : context.summarizer;
  const found = work.desk.find(context.conversation);
  // This summary includes a narrative that was too late for the previous compaction.
  const late = found?.isLate ? found.writing.narrative : undefined;
  const lateCost = found?.isLate && found.writing.result ? spentOn(found.writing) : {};
  const attempt: Attempt = writer ? await withNarrative(composer, writer, found) : {};
  const { candidate: written, meanwhile, problem } = attempt;
  const spent = sumOf(lateCost, attempt.spent);
  if (written) return { ...condensed(written, 'summarized', attempt.note), author: 'model', ...spent };
  const mayFallBack = writer === undefined || settings.fallback === 'record';
  if (problem && !mayFallBack) return { ...unchanged(view, ''), failure: problem, ...spent };
  const candidate = mayFallBack
    ? (meanwhile ?? (await inPieces(planRecord(composer, late), context.signal)))
    : undefined;
  if (!candidate) {
    const note = 'there is nothing older, or too little to be worth a summary';
    return { ...unchanged(view, problem ?? note), ...spent };
  }
  if (found && late) work.desk.clear(found.writing);
  if (problem && attempt.spent?.usage)
    work.warn(
      `The summary consists of the record alone, because the text of the model could not be used: ${problem}.`,
    );
  const author = late ? 'model' : 'rules';
  return { ...condensed(candidate, 'summarized', noteOf(composer, attempt)), author, ...spent };
}

function noteOf({ context }: Composer, { note, problem }: Attempt): string | undefined {
  if (context.dryRun && context.summarizer)
    return 'planned with the record alone; a compaction also asks a model for a narrative';
  return problem ? `the record alone is the summary: ${problem}` : note;
}

/** Tries to get a summary with a narrative. */
async function withNarrative(composer: Composer, writer: Model, found: Found | undefined): Promise<Attempt> {
  const { context, settings } = composer;
  const { work } = context;
  const isAsked = Boolean(context.instructions) && context.instructions !== found?.writing.instructions;
  const isWaited = found?.isLate || found?.writing.kind === 'native';
  if (found && found.writing.result === undefined && isWaited && !isAsked) {
    // While a narrative is being written, do not wait again, and do not pay for a second one.
    return { note: 'the model is still writing about an earlier part, so the record alone is used for now' };
  }
  if (work.isElsewhere && !found && !isAsked)
    return { note: 'another process is writing the narrative, so the record alone is used for now' };
  const ahead = found?.isLate ? undefined : writingOf(found, context.instructions);
  const rest = ahead?.narrative ? undefined : restOf('narrative', writer);
  if (rest) return { problem: rest };
  const most = maxNarrativeOf(composer, writer);
  if (most === 0) return { problem: 'the window is too small for a written summary' };
  const plan = await inPieces(planNarrative(composer, most), context.signal);
  if (!plan) return {};
  const { part, maxNarrative } = plan;
  const maxRecord = Math.min(plan.room, composer.maxRecord);
  // `begin` continues a late narrative. One that was written for other instructions is not passed on.
  const late = found?.isLate ? found : undefined;
  const writing = ahead ?? begin(composer, writer, { end: part.cut, maxNarrative, found: late });
  if (!writing) return {};
  const isDone = await work.patience.waitFor(writing.done, context.signal);
  const { narrative, result } = writing;
  if (!isDone) {
    const told = found?.writing.narrative ?? readSummaries(part.previous).narrative;
    const composed = await inPieces(composer.compose(part, told, maxRecord), context.signal);
    const meanwhile = { ...composed, note: plan.note };
    const fits = composer.total(meanwhile) + maxNarrative <= composer.budget.enoughTokens;
    const isOfUse = fits && meanwhile.tells && composer.savesEnough(meanwhile);
    const tooLate = `${writer.id} was not done after ${work.patience.ms} ms (summary.waitMs)`;
    if (settings.fallback === 'none') return { problem: tooLate };
    return { meanwhile: isOfUse ? meanwhile : undefined, note: `${tooLate}; the narrative follows later` };
  }
  work.desk.clear(writing);
  const spent = spentOn(writing);
  if (!narrative) return { problem: result?.ok === false ? result.problem : undefined, spent };
  for (const tokens of [maxRecord, 0]) {
    const composed = await inPieces(composer.compose(part, narrative, tokens), context.signal);
    const candidate = { ...composed, note: plan.note };
    const note = result?.ok ? result.note : undefined;
    if (composer.savesEnough(candidate)) return { candidate, spent, note };
  }
  return { problem: 'the written summary would not save enough', spent };
}

/** Returns the narrative that was started ahead of time, unless it failed or follows other instructions. */
function writingOf(found: Found | undefined, instructions: string | undefined): Writing | undefined {
  if (found?.writing.kind !== 'narrative' || found.writing.instructions !== instructions) return undefined;
  return found.writing.result?.ok === false ? undefined : found.writing;
}

/**
 * Begins the narrative for the next summary ahead of time. It covers what the model has seen so far.
 *
 * @returns whether anything was begun.
 */
export function prepareSummary(composer: Composer): boolean {
  const { context } = composer;
  const { summarizer: writer, work } = context;
  if (!writer || isResting('narrative', writer)) return false;
  const most = maxNarrativeOf(composer, writer);
  const plan = most > 0 ? atOnce(planNarrative(composer, most)) : undefined;
  if (!plan) return false;
  const found = work.desk.find(context.conversation);
  const order = { end: endOfSeen(composer, writer, plan), maxNarrative: plan.maxNarrative, found };
  return begin(composer, writer, order) !== undefined;
}

/**
 * Returns the end index of a narrative that is started ahead of time. It covers all messages that the model has seen, except unanswered
 * requests. If these messages do not fit into one request to the summarizing model, it covers fewer.
 */
function endOfSeen(
  { view, context }: Composer,
  writer: Model,
  { part, maxNarrative }: NarrativePlan,
): number {
  const { messages } = view;
  const { meter } = context;
  const unseen = startOfUnseen(messages);
  const room = ((writer.contextWindow ?? Infinity) - maxNarrative) * READABLE - view.fixedTokens;
  let { cut } = part;
  let tokens = meter.messages(messages.slice(0, cut));
  for (const { start, end, open } of pairingOf(messages).groups) {
    if (end <= part.cut) continue;
    tokens += meter.messages(messages.slice(start, end));
    if (open || end > unseen || tokens > room) break;
    if (!isUserRequest(messages[start] as Message)) cut = end;
  }
  return cut;
}

/**
 * Begins a narrative of the conversation up to an index.
 *
 * @returns `undefined` if an earlier narrative already covers all of it.
 */
function begin(
  composer: Composer,
  writer: Model,
  { end, maxNarrative, found }: { end: number; maxNarrative: number; found: Found | undefined },
): Writing | undefined {
  const { view, context, redact } = composer;
  const { messages } = view;
  const earlier = messages.filter(isOfSummary);
  const told: Narrative | undefined = found?.writing.narrative ?? readSummaries(earlier).told;
  const summarized = messages.findLastIndex(({ kind }) => kind === 'summary');
  const start =
    Math.max(
      summarized,
      messages.findIndex(({ id }) => id === told?.to),
    ) + 1;
  const fresh = messages
    .slice(start, end)
    .filter((message) => message.role !== 'system' && !isNarrative(message));
  const last = messages[end - 1];
  if (fresh.length === 0 || last === undefined) return undefined;
  const task = {
    composer,
    model: writer,
    maxTokens: maxNarrative,
    previous: told && redact(told.text),
    messages: fresh.map((message) => composer.redactedOriginal(message)),
    live: livePrefix(composer, writer, end),
    requests: messages.filter(isUserRequest).map((message) => composer.redactedOriginal(message)),
    after: messages.slice(end),
    kept: composer.partition(messages.length).requests.filter(isVerbatim),
  };
  return context.work.desk.begin({
    kind: 'narrative',
    model: writer,
    instructions: context.instructions,
    ...reachOf(composer, last),
    work: context.work,
    write: async (signal, onUsage) => {
      const written = await writeNarrative({ ...task, signal, onUsage });
      if (!written.ok) return written;
      const others = [task.previous, context.instructions, context.appendix].filter(
        (text) => text !== undefined,
      );
      const sources = [...quotableIn([...task.messages, ...task.requests]), ...others];
      const { text, removed } = withoutFalseQuotations(written.text, sources);
      if (removed === 0) return written;
      return {
        ok: true,
        text,
        note: `${removed} quotations of the narrative are not in any message and were removed with their sentences`,
      };
    },
  });
}

/** Returns the original conversation up to a message, and the highest message number in it. */
function reachOf({ numbers, view, context: { conversation } }: Composer, last: Message) {
  const messages = conversation.slice(0, conversation.findIndex(({ id }) => id === last.id) + 1);
  const known = view.messages.slice(0, view.messages.indexOf(last) + 1);
  return { messages, at: Math.max(0, ...known.map((message) => numbers.get(message) ?? 0)) };
}

/** Returns the prefix that the agent's model has already received, if it can be sent again. */
function livePrefix({ context, budget, view }: Composer, writer: Model, end: number) {
  const { live, model: reader, system, tools = [], original } = context;
  if (!live || writer !== reader || budget.reason === 'request_too_large') return undefined;
  const prefix = view.messages.slice(0, end);
  // Thoughts of another model are not sent to this one.
  const isForeign = ({ metadata }: Message) =>
    metadata?.modelId !== undefined && metadata.modelId !== writer.id;
  if (prefix.some(isForeign)) return undefined;
  return { system, tools, messages: prefix.map((message) => original(message)) };
}

/**
 * Compacts the older part with the provider's endpoint. The summary also has the record, for other models. If the provider takes longer
 * than `summary.waitMs`, its result is discarded, and the next compactions skip it.
 */
export async function condenseNatively(composer: Composer, model: Model): Promise<Reduction> {
  const { view, context } = composer;
  const { work } = context;
  const ready = preparedNatively(composer, model);
  const rest = ready ? undefined : restOf('native', model);
  if (rest) return { ...unchanged(view, ''), failure: rest };
  const part = ready?.part ?? (await inPieces(planRecord(composer), context.signal))?.part;
  if (!part) return unchanged(view, 'there is nothing older, or too little to be worth it');
  const writing = ready?.writing ?? beginNatively(composer, model, part.cut);
  if (!(await work.patience.waitFor(writing.done, context.signal))) {
    const late = new TimeLimitError(`The compaction of ${model.id}`, 'summary.waitMs', work.patience.ms);
    // The answer costs money and is useless, so skip the model at once.
    work.warn(noteEnd('native', model, late.message) ?? late.message);
    return { ...unchanged(view, ''), failure: late.message };
  }
  work.desk.clear(writing);
  const { result } = writing;
  const spent = spentOn(writing);
  if (!result?.ok) return { ...unchanged(view, ''), failure: result?.problem ?? 'nothing came', ...spent };
  const content = 'content' in result ? result.content : [];
  if (content.length === 0)
    return { ...unchanged(view, ''), failure: 'the provider returned nothing', ...spent };
  const { narrative } = readSummaries(part.previous);
  const items = { modelId: model.id, content };
  const native = await inPieces(composer.compose(part, narrative, composer.maxRecord, items), context.signal);
  if (!composer.savesEnough(native)) {
    return { ...unchanged(view, 'the provider’s compaction saves too little'), ...spent };
  }
  const note = 'note' in result ? result.note : undefined;
  return { ...condensed(native, 'replaced', note), author: 'provider', ...spent };
}

/** Finds a provider compaction that this model began ahead of time, if it fits the budget together with the messages since. */
function preparedNatively(composer: Composer, model: Model) {
  const { view, budget, context } = composer;
  const found = context.work.desk.find(context.conversation);
  if (found?.writing.kind !== 'native' || found.writing.model.id !== model.id || found.isLate)
    return undefined;
  const { writing } = found;
  if (writing.result?.ok === false || writing.instructions !== context.instructions) return undefined;
  const cut = view.messages.findIndex(({ id }) => id === writing.to) + 1;
  if (cut === 0) return undefined;
  const part = composer.partition(cut);
  return composer.total(composer.bare(part)) <= budget.enoughTokens ? { writing, part } : undefined;
}

/** Begins a provider compaction ahead of time. Returns whether anything was begun. */
export function prepareNatively(composer: Composer, model: Model): boolean {
  const candidate = isResting('native', model) ? undefined : atOnce(planRecord(composer));
  if (candidate) beginNatively(composer, model, candidate.part.cut);
  return candidate !== undefined;
}

function beginNatively(composer: Composer, model: Model, cut: number): Writing {
  const { view, context, settings } = composer;
  const messages = view.messages.slice(0, cut).filter((message) => !isNarrative(message));
  const wishes = [settings.instructions, context.instructions].filter(Boolean).join('\n') || undefined;
  const { system, tools = [], work } = context;
  return work.desk.begin({
    kind: 'native',
    model,
    instructions: context.instructions,
    ...reachOf(composer, view.messages[cut - 1] as Message),
    work,
    write: async (signal, onUsage) => {
      const request = { system, messages, tools, signal, instructions: wishes };
      const { usage, ...made } = await askProvider(model, request, composer.timeoutMs);
      if (usage) onUsage(usage);
      return { ok: true, ...made };
    },
  });
}
