import {
  type AgentState,
  type CompactionOutcome,
  compactionCostOf,
  type GoneItem,
  type Message,
  type Receipt,
  type SessionLog,
  textOf,
  toolResultsOf,
  toolUsesOf,
} from '@x/core';
import { headOf, jsonText } from '@x/core/internal';
import { pinsIn } from './capability/stored-state.js';
import { isUserRequest } from './conversation/regions.js';
import { commandOf, failureLine, outcomeOf, pathOf, readsByName } from './conversation/tool-calls.js';
import { proofOf } from './run/pins.js';
import { isNumbered, numbersOf } from './summary/numbers.js';
import { isOfSummary, readSummaries } from './summary/summary-message.js';

/** What a receipt is about: a compaction and the list before it, or a session. */
type ReceiptSource =
  | { readonly before: readonly Message[]; readonly outcome: CompactionOutcome }
  | { readonly state: AgentState; readonly log: SessionLog };

/** Items of one kind that a receipt lists, and UTF-16 units of each. */
const MOST = 10;
const LENGTH = 200;

/**
 * Says what a model no longer sees, what matters most first: open requests, errors that nothing mended, decisions, files that were
 * changed. Each with its number, by which `recall` finds it, and what is left of it.
 *
 * @throws what reading the log throws.
 */
export async function whatIsGone(source: ReceiptSource): Promise<Receipt> {
  if ('outcome' in source) return receiptOf(source.before, source.outcome);
  const { state, log } = source;
  const all = new Map<Message, number>();
  for await (const message of log.read()) if (isNumbered(message)) all.set(message, all.size + 1);
  const pins = proofOf(pinsIn(state), state.context);
  return receipt(all, state.context, { cost: compactionCostOf(state), pins, logLocation: log.location });
}

/** The receipt of one compaction. */
export function receiptOf(before: readonly Message[], outcome: CompactionOutcome): Receipt {
  const { messages, tokensBefore, tokensAfter, usage, modelCalls = 0, pins = [] } = outcome;
  const { inputTokens = 0, outputTokens = 0 } = usage ?? {};
  const cost = { modelCalls, inputTokens, outputTokens, savedTokens: tokensBefore - tokensAfter };
  return receipt(numbersOf(before), messages, { cost, pins });
}

type Figures = Omit<Receipt, 'all' | 'seen' | 'gone' | 'items' | 'markdown'>;

function receipt(all: ReadonlyMap<Message, number>, view: readonly Message[], figures: Figures): Receipt {
  const seen = new Map(view.map((message) => [message.id, message]));
  const recorded = new Set(readSummaries(view.filter(isOfSummary)).record.map(({ at }) => at));
  const leftOf = ({ id }: Message, at: number): GoneItem['left'] => {
    if (seen.has(id)) return 'shortened';
    return recorded.has(at) ? 'record' : 'log';
  };
  const gone = new Map([...all].filter(([message]) => !isWhole(message, seen.get(message.id))));
  const items = ranked(all).flatMap(({ message, ...item }): readonly GoneItem[] => {
    const at = gone.get(message);
    return at === undefined ? [] : [{ ...item, at, messageId: message.id, left: leftOf(message, at) }];
  });
  const counted = { all: all.size, seen: all.size - gone.size, gone: gone.size, items, ...figures };
  return { ...counted, markdown: markdownOf(counted) };
}

function isWhole(message: Message, now: Message | undefined): boolean {
  if (now === undefined) return false;
  return (
    now === message ||
    (textOf(now) === textOf(message) && JSON.stringify(now.content) === JSON.stringify(message.content))
  );
}

interface Item extends Pick<GoneItem, 'kind' | 'text'> {
  readonly message: Message;
}

/** What matters of a conversation, by kind, the newest first. */
function ranked(all: ReadonlyMap<Message, number>): readonly Item[] {
  const messages = [...all.keys()];
  const item = (kind: GoneItem['kind'], message: Message, text: string): Item => ({ kind, message, text });
  const requests: Item[] = [];
  const decisions: Item[] = [];
  const errors = new Map<string, Item>();
  const files = new Map<string, Item>();
  const calls = new Map(
    messages.flatMap((message) => toolUsesOf(message).map((use) => [use.id, { use, message }] as const)),
  );
  for (const [index, message] of messages.entries()) {
    if (isUserRequest(message)) requests.push(item('request', message, textOf(message)));
    const next = messages[index + 1];
    const isLast = message.role === 'assistant' && (next === undefined || isUserRequest(next));
    if (isLast && textOf(message) !== '') decisions.push(item('decision', message, textOf(message)));
    for (const block of toolResultsOf(message)) {
      const call = calls.get(block.toolUseId);
      if (call === undefined) continue;
      const { use } = call;
      const path = pathOf(use);
      const subject = `${use.name} ${path ?? commandOf(use) ?? jsonText(use.input)}`;
      errors.delete(subject);
      if (outcomeOf(block).failed) {
        errors.set(subject, item('error', call.message, `${subject}: ${failureLine(textOf([block]))}`));
      } else if (path !== undefined && !readsByName(use.name)) {
        files.delete(path);
        files.set(path, item('file', call.message, `${path} (${use.name})`));
      }
    }
  }
  const newest = (items: Iterable<Item>) =>
    [...items]
      .slice(-MOST)
      .toReversed()
      .map((item) => ({ ...item, text: headOf(item.text.replaceAll(/\s+/g, ' ').trim(), LENGTH) }));
  return [requests, errors.values(), decisions, files.values()].flatMap(newest);
}

const TITLES: Readonly<Record<GoneItem['kind'], string>> = {
  request: 'Requests',
  error: 'Errors that nothing mended',
  decision: 'What the assistant concluded',
  file: 'Files that were changed',
};

const LEFT: Readonly<Record<GoneItem['left'], string>> = {
  shortened: 'shortened',
  record: 'quoted in the record',
  log: 'only in the log',
};

function markdownOf(receipt: Omit<Receipt, 'markdown'>): string {
  const { all, gone, items, pins, cost, logLocation } = receipt;
  const present = pins.filter(({ heldBy }) => heldBy !== undefined).length;
  const { modelCalls, inputTokens, outputTokens, savedTokens } = cost;
  const spent =
    modelCalls === 0
      ? 'no model was called'
      : `${modelCalls} model calls with ${inputTokens + outputTokens} tokens`;
  const sections = (Object.keys(TITLES) as GoneItem['kind'][]).map((kind) => {
    const lines = items
      .filter((item) => item.kind === kind)
      .map(({ at, text, left }) => `- r${at} ${text} (${LEFT[left]})`);
    return lines.length > 0 && [`## ${TITLES[kind]}`, ...lines].join('\n');
  });
  return [
    '# What the model no longer sees',
    `${gone} of ${all} messages are gone or shortened. Saved: ${savedTokens} tokens; ${spent}.`,
    pins.length > 0 && `${present} of ${pins.length} pins present.`,
    ...sections,
    gone > 0 &&
      `The log has every message${logLocation ? ` (${logLocation})` : ''}; the tool recall reads r12 by its number.`,
  ]
    .filter(Boolean)
    .join('\n\n');
}
