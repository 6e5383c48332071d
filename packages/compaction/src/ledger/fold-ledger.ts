import type { Message, Redact } from '@x/core';
import { cutMiddle } from '../conversation/text.js';
import { type CallFact, type Facts, factsOf, weightOf } from './facts.js';
import { emptyLedger, type Ledger } from './ledger.js';
import { rankMentions } from './rank-mentions.js';

/** How much of each kind a ledger remembers: constant, however long the conversation. */
const MOST = { requests: 30, files: 150, commands: 40, errors: 20, decisions: 30, mentions: 800 };
/** UTF-16 units of the first request, and of those after it. */
const FIRST_REQUEST = 4_000;
const LATER_REQUEST = 600;
const SHORT_REPLY = 40;

/** Adds what messages establish, without secrets, to what earlier ledgers hold. Changes neither. */
export function foldLedger(
  earlier: readonly Ledger[],
  messages: readonly Message[],
  redact?: Redact,
): Ledger {
  const draft = merged(earlier);
  const calls = new Map<string, CallFact>();
  for (const message of messages) {
    draft.at++;
    add(draft, factsOf(message, redact), calls);
  }
  return finish(draft);
}

type Item<Key extends keyof Ledger> = Ledger[Key] extends readonly (infer Entry)[] ? Entry : never;

/** A ledger while it is being written; maps are ordered by when an entry was last seen. */
interface Draft {
  at: number;
  /** How the model last ended a turn. */
  closing?: string | undefined;
  requests: Item<'requests'>[];
  readonly files: Map<string, Item<'files'>>;
  readonly commands: Map<string, Item<'commands'>>;
  readonly errors: Map<string, Item<'errors'>>;
  readonly decisions: Map<string, Item<'decisions'>>;
  /** In no order: they are ranked. Entries of the draft alone, to be changed in place. */
  readonly mentions: Map<string, Writable<Item<'mentions'>>>;
}

type Writable<Entry> = { -readonly [Key in keyof Entry]: Entry[Key] };

function merged(ledgers: readonly Ledger[]): Draft {
  const by = <Entry>(key: (entry: Entry) => string, lists: readonly (readonly Entry[])[]) =>
    new Map(lists.flat().map((entry) => [key(entry), entry] as const));
  const all = ledgers.length > 0 ? ledgers : [emptyLedger];
  return {
    at: Math.max(...all.map((ledger) => ledger.messages)),
    requests: all.flatMap((ledger) => ledger.requests),
    closing: all.at(-1)?.closing,
    files: by(
      (entry) => entry.path,
      all.map((ledger) => ledger.files),
    ),
    commands: by(
      (entry) => entry.command,
      all.map((ledger) => ledger.commands),
    ),
    errors: by(
      (entry) => entry.text,
      all.map((ledger) => ledger.errors),
    ),
    decisions: by(
      (entry) => entry.text,
      all.map((ledger) => ledger.decisions),
    ),
    mentions: new Map(
      all.flatMap((ledger) => ledger.mentions.map((entry) => [entry.token, { ...entry }] as const)),
    ),
  };
}

function add(draft: Draft, facts: Facts, calls: Map<string, CallFact>): void {
  const { at } = draft;
  if (facts.request) {
    const length = draft.requests.length === 0 ? FIRST_REQUEST : LATER_REQUEST;
    const text = cutMiddle(facts.request, length, ' … ');
    // "Yes" says nothing without what it was said to.
    const context = text.length < SHORT_REPLY && draft.closing ? ` (in reply to: ${draft.closing})` : '';
    draft.requests.push({ text: text + context, at, done: false });
  }
  if (facts.closing) {
    draft.closing = facts.closing;
    draft.requests = draft.requests.map((request) => ({ ...request, done: true }));
  }
  for (const text of facts.decisions) renew(draft.decisions, text, { text, at });
  for (const call of facts.calls) {
    calls.set(call.id, call);
    for (const path of call.read) {
      renew(draft.files, path, { path, changed: draft.files.get(path)?.changed ?? false, at });
    }
    for (const path of call.changed) renew(draft.files, path, { path, changed: true, at });
  }
  for (const { callId, tool, failed, exitCode, error } of facts.results) {
    const command = calls.get(callId)?.command;
    if (command !== undefined) {
      const outcome = failed ? `failed${exitCode === undefined ? '' : ` with exit ${exitCode}`}` : 'ok';
      renew(draft.commands, command, { command, outcome, at });
    }
    if (error) {
      const text = `${tool}: ${error}`;
      renew(draft.errors, text, { text, at });
    }
  }
  const file = fileOf(facts, calls);
  for (const mention of facts.mentions) {
    const { token, kind } = mention;
    const weight = weightOf(facts, mention);
    const known = draft.mentions.get(token);
    if (known === undefined) {
      draft.mentions.set(token, { token, kind, weight, at, file });
      continue;
    }
    known.kind = kind;
    known.weight += weight;
    known.at = at;
    known.file = file ?? known.file;
  }
}

/** The file that a message is about, where it is about one. */
function fileOf(facts: Facts, calls: ReadonlyMap<string, CallFact>): string | undefined {
  const [result] = facts.results;
  const call = result && facts.results.length === 1 ? calls.get(result.callId) : facts.calls[0];
  if (!call || facts.calls.length > 1) return undefined;
  const files = [...call.changed, ...call.read];
  // What a command printed of several files belongs to none of them.
  return call.command === undefined || files.length === 1 ? files[0] : undefined;
}

function renew<Entry>(map: Map<string, Entry>, key: string, entry: Entry): void {
  map.delete(key);
  map.set(key, entry);
}

function finish(draft: Draft): Ledger {
  const newest = <Entry>(map: Map<string, Entry>, most: number) => [...map.values()].slice(-most);
  const [first, ...later] = draft.requests;
  return {
    messages: draft.at,
    ...(draft.closing === undefined ? {} : { closing: draft.closing }),
    requests: first ? [first, ...later.slice(-(MOST.requests - 1))] : [],
    files: newest(draft.files, MOST.files),
    commands: newest(draft.commands, MOST.commands),
    errors: newest(draft.errors, MOST.errors),
    decisions: newest(draft.decisions, MOST.decisions),
    mentions: rankMentions(draft.mentions.values(), draft.at, MOST.mentions),
  };
}
