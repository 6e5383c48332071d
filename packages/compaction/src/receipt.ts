import {
  type AgentState,
  type CompactionOutcome,
  compactionCostOf,
  type GoneItem,
  type Message,
  type Receipt,
  type SessionLog,
  textOf,
} from '@x/core';
import { atOnce, Numbering, nativeIndex, type Redact, redactSecrets } from '@x/core/internal';
import { pinsIn } from './capability/stored-state.js';
import { isSame } from './capability/undo.js';
import { isUserRequest } from './conversation/regions.js';
import { commandOf, failureLine, outcomeOf, pathsOf } from './conversation/tool-calls.js';
import { cutLine } from './record/cut-line.js';
import { type EntryKind, isCall } from './record/entry.js';
import { type Made, subjectOf, turnsOf } from './record/turns.js';
import { proofOf } from './run/pins.js';
import { numbersOf } from './summary/numbers.js';
import { isOfSummary, readSummaries } from './summary/summary-message.js';

/** The subject of a receipt: a compaction and the list before it, or a session. */
type ReceiptSource =
  | { readonly before: readonly Message[]; readonly outcome: CompactionOutcome }
  | { readonly state: AgentState; readonly log: SessionLog };

/** Maximum items of one kind in a receipt. */
const MOST = 10;
/** Maximum UTF-16 units of an item's text. */
const LENGTH = 200;

/**
 * Lists the items that a model no longer sees, the most important first: open requests, unfixed errors, decisions, files that calls worked
 * on. Each item has its number in the log and says where it is still quoted. Secrets are redacted.
 *
 * @throws any error of reading the log.
 */
export function whatIsGone(source: ReceiptSource): Promise<Receipt> {
  return receiptFor(source, redactSecrets);
}

/** {@link whatIsGone}, with the redaction of a configuration. */
export async function receiptFor(source: ReceiptSource, redact: Redact | undefined): Promise<Receipt> {
  if ('outcome' in source) return receiptOf(source.before, source.outcome, redact);
  const { state, log } = source;
  const all = new Map<Message, number>();
  const numbering = new Numbering();
  for await (const message of log.read()) {
    const number = numbering.next(message);
    if (number !== undefined) all.set(message, number);
  }
  const pins = proofOf(pinsIn(state), state.context);
  const figures = { cost: compactionCostOf(state), pins, logLocation: log.location };
  return receipt(all, state.context, figures, redact, 'all requests so far');
}

/** Makes the receipt of one compaction. */
export function receiptOf(
  before: readonly Message[],
  outcome: CompactionOutcome,
  redact: Redact | undefined,
): Receipt {
  const { messages, tokensBefore, tokensAfter, usage, modelCalls = 0, pins = [] } = outcome;
  const { inputTokens = 0, outputTokens = 0 } = usage ?? {};
  const cost = { modelCalls, inputTokens, outputTokens, savedTokens: tokensBefore - tokensAfter };
  return receipt(numbersOf(before), messages, { cost, pins }, redact);
}

type Figures = Pick<Receipt, 'cost' | 'pins' | 'logLocation'>;

function receipt(
  all: ReadonlyMap<Message, number>,
  view: readonly Message[],
  figures: Figures,
  redact: Redact = (text) => text,
  savedIn = 'each request',
): Receipt {
  const seen = new Map(view.map((message) => [message.id, message]));
  const recorded = recordedIn(view);
  const gone = new Map([...all].filter(([message]) => !isSame(seen.get(message.id), message)));
  const items: GoneItem[] = [];
  const found: Partial<Record<GoneItem['kind'], number>> = {};
  for (const [kind, candidates] of Object.entries(candidatesIn(all)) as [GoneItem['kind'], Candidate[]][]) {
    const lost = candidates.filter(({ message }) => gone.has(message)).toReversed();
    if (lost.length > 0) found[kind] = lost.length;
    for (const { message, text: whole } of lost.slice(0, MOST)) {
      const at = gone.get(message) as number;
      const isRecorded = RECORDED_AS[kind].some((entry) => recorded.has(`${entry} ${at}`));
      const left = seen.has(message.id) ? 'shortened' : isRecorded ? 'record' : 'log';
      items.push({ kind, at, messageId: message.id, text: cutLine(redact(whole), LENGTH, 0), left });
    }
  }
  const shown = figures.pins.map((pin) => ({ ...pin, text: redact(pin.text) }));
  const counts = { all: all.size, seen: all.size - gone.size, gone: gone.size, found };
  const data = { ...counts, items, ...figures, pins: shown };
  return { ...data, markdown: markdownOf(data, savedIn) };
}

/** The entries of a record that quote an item of each kind. */
const RECORDED_AS: Readonly<Record<GoneItem['kind'], readonly EntryKind[]>> = {
  request: ['asked'],
  error: ['did', 'looked'],
  decision: ['said'],
  file: ['did', 'looked'],
};

/**
 * Returns the kind and number of each entry of the record in a view, such as "did 12". Skips a record in front of a provider's own
 * compaction, because the model does not see that record.
 */
function recordedIn(view: readonly Message[]): ReadonlySet<string> {
  const { record } = readSummaries(view.filter((one) => isOfSummary(one) && nativeIndex(one) === -1));
  return new Set(
    record.flatMap((entry) => {
      const again = isCall(entry) ? (entry.again ?? []) : [];
      return [entry.at, ...again].map((at) => `${entry.kind} ${at}`);
    }),
  );
}

interface Candidate {
  readonly message: Message;
  readonly text: string;
}

/** Finds the important items of a conversation, by kind, the oldest first. */
function candidatesIn(all: ReadonlyMap<Message, number>): Readonly<Record<GoneItem['kind'], Candidate[]>> {
  const numbered = [...all].map(([message, at]) => ({ at, excerpts: { message } }));
  const turns = atOnce(turnsOf(numbered, []));
  const request: Candidate[] = [];
  const decision: Candidate[] = [];
  const failures = new Map<string, Candidate & { readonly call: Pick<Made, 'mendedAt'> }>();
  const files = new Map<string, Candidate>();
  for (const [index, { excerpts, calls }] of turns.entries()) {
    const { message } = excerpts;
    const text = textOf(message);
    const next = turns[index + 1]?.excerpts.message;
    if (isUserRequest(message)) request.push({ message, text });
    else if (message.role === 'assistant' && text !== '' && (next === undefined || isUserRequest(next)))
      decision.push({ message, text });
    for (const call of calls) {
      const { use, result, looks } = call;
      if (!result) continue;
      if (outcomeOf(result.block, use).failed) {
        const subject = subjectOf(use);
        failures.delete(subject);
        failures.set(subject, { message, call, text: `${subject}: ${failureLine(textOf([result.block]))}` });
      } else if (!looks && commandOf(use) === undefined) {
        for (const path of pathsOf(use)) {
          files.delete(path);
          files.set(path, { message, text: `${path} (${use.name})` });
        }
      }
    }
  }
  const error = [...failures.values()].filter(({ call }) => call.mendedAt === undefined);
  return { request, error, decision, file: [...files.values()] };
}

const TITLES: Readonly<Record<GoneItem['kind'], string>> = {
  request: 'Requests',
  error: 'Errors that were not fixed',
  decision: 'Conclusions of the assistant',
  file: 'Files that calls used',
};

const LEFT: Readonly<Record<GoneItem['left'], string>> = {
  shortened: 'shortened',
  record: 'quoted in the record',
  log: 'only in the log',
};

function markdownOf(receipt: Omit<Receipt, 'markdown'>, savedIn: string): string {
  const { all, gone, found, items, pins, cost, logLocation } = receipt;
  const { modelCalls, inputTokens, outputTokens, savedTokens } = cost;
  const spent =
    modelCalls === 0
      ? 'no model was called'
      : `${modelCalls} model calls with ${inputTokens + outputTokens} tokens`;
  const sections = (Object.keys(TITLES) as GoneItem['kind'][]).map((kind) => {
    const lines = items
      .filter((item) => item.kind === kind)
      .map(({ at, text, left }) => `- r${at} ${text} (${LEFT[left]})`);
    const more = (found[kind] ?? 0) - lines.length;
    const rest = more > 0 ? [`- ${more} older ones`] : [];
    return lines.length > 0 && [`## ${TITLES[kind]}`, ...lines, ...rest].join('\n');
  });
  return [
    '# What the model no longer sees',
    `${gone} of ${all} messages are gone or shortened. Saved in ${savedIn}: ${savedTokens} tokens; ${spent}.`,
    pins.length > 0 && `${pins.filter(({ heldBy }) => heldBy).length} of ${pins.length} pins present.`,
    ...sections,
    gone > 0 && logLocation && `The log contains every message (r12 is the twelfth): ${logLocation}`,
  ]
    .filter(Boolean)
    .join('\n\n');
}
