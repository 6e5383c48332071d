import type { AgentState } from '../agent/agent-state.js';
import { isObject, type JsonObject, type JsonValue } from '../lib/json.js';
import type { ToolResultBlock, ToolUseBlock } from '../messages/content-block.js';
import { type Message, toolResultMessage, toolResultsOf, toolUsesOf } from '../messages/message.js';

/** Two conversations that began as one. */
export interface Divergence {
  /** Messages that both began with. */
  readonly ancestor: readonly Message[];
  /** Messages of this writer. */
  readonly ours: readonly Message[];
  /** Messages in the store now. */
  readonly stored: readonly Message[];
  /** Messages that this writer added since the ancestor, also those that its own compactions have removed. */
  readonly added?: readonly Message[] | undefined;
}

/**
 * One conversation with the turns of both writers, the stored ones first. Whoever compacted decides how it begins; when
 * both did, the stored beginning stays, and our own messages follow it in full. Messages are told apart by id.
 */
export function mergeContext({ ancestor, ours, stored, added = [] }: Divergence): readonly Message[] {
  const inAncestor = idsOf(ancestor);
  const inStored = idsOf(stored);
  const isNew = ({ id }: Message) => !inAncestor.has(id);

  if (isReduced(ours, ancestor, isNew) && !isReduced(stored, ancestor, isNew)) {
    const tail = ours.findLastIndex((message) => !isNew(message) || message.kind === 'summary') + 1;
    const prefix = ours.slice(0, tail);
    const inPrefix = idsOf(prefix);
    return pairResults([
      ...prefix,
      ...stored.slice(ancestor.length).filter(({ id }) => !inPrefix.has(id)),
      ...ours.slice(tail).filter(({ id }) => !inStored.has(id)),
    ]);
  }
  // Drop our summary: the stored one covers it, or its messages follow.
  const current = ours.filter((message) => isNew(message) && message.kind !== 'summary');
  const byId = new Map(current.map((message) => [message.id, message]));
  const inAdded = idsOf(added);
  const own = [
    ...added.map((message) => byId.get(message.id) ?? message),
    ...current.filter(({ id }) => !inAdded.has(id)),
  ];
  return pairResults([...stored, ...own.filter((message) => isNew(message) && !inStored.has(message.id))]);
}

/** Tests whether the ancestor was reduced: a message is gone, changed or summarized. */
function isReduced(
  messages: readonly Message[],
  ancestor: readonly Message[],
  isNew: (message: Message) => boolean,
): boolean {
  const begins = ancestor.every((message, index) => isSame(message, messages[index]));
  return !begins || messages.some((message) => message.kind === 'summary' && isNew(message));
}

function isSame(left: Message, right: Message | undefined): boolean {
  return left === right || (left.id === right?.id && JSON.stringify(left) === JSON.stringify(right));
}

function idsOf(messages: readonly Message[]): ReadonlySet<string> {
  return new Set(messages.map(({ id }) => id));
}

type Head = Readonly<Record<string, JsonValue | undefined>>;

/**
 * A three-way merge, field by field and extension by extension: ours where we changed it since the ancestor, else what is
 * stored. Of an extension's `counters` nobody's are lost: what both have counted since the ancestor is added up.
 */
export function mergeHead(ancestor: JsonObject, ours: JsonObject, stored: JsonObject): JsonObject {
  const [before, own, theirs] = [ancestor, ours, stored].map((head) => asObject(head.extensions)) as [
    Head,
    Head,
    Head,
  ];
  const extensions = Object.entries(mergeFields(before, own, theirs)).map(([name, merged]) => {
    const counters = mergeCounters(before[name], own[name], theirs[name]);
    return [name, counters === undefined ? merged : { ...asObject(merged), counters }] as const;
  });
  return { ...mergeFields(ancestor, ours, stored), extensions: Object.fromEntries(extensions) as JsonObject };
}

/** Makes `state` what `merged` is, but for its context: others hold on to the object itself. */
export function adoptHead(state: AgentState, merged: AgentState): void {
  const { extensions, ...fields } = merged;
  Object.assign(state, fields);
  for (const name of Object.keys(state.extensions)) {
    if (!Object.hasOwn(extensions, name)) delete state.extensions[name];
  }
  Object.assign(state.extensions, extensions);
}

function mergeFields(ancestor: Head, ours: Head, stored: Head): JsonObject {
  const names = new Set([...Object.keys(stored), ...Object.keys(ours)]);
  const fields = [...names].map((name): readonly [string, JsonValue | undefined] => {
    const changed = JSON.stringify(ours[name]) !== JSON.stringify(ancestor[name]);
    return [name, changed ? ours[name] : stored[name]];
  });
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined)) as JsonObject;
}

/** `undefined` unless both count something. */
function mergeCounters(
  ancestor: JsonValue | undefined,
  ours: JsonValue | undefined,
  stored: JsonValue | undefined,
): JsonObject | undefined {
  const [before, own, theirs] = [ancestor, ours, stored].map((extension) => asObject(extension).counters);
  if (!isObject(own) || !isObject(theirs)) return undefined;
  const merged: Record<string, JsonValue> = { ...theirs };
  for (const [name, count] of Object.entries(own)) {
    const other = theirs[name];
    const base = asObject(before)[name];
    const isCounted = typeof count === 'number' && typeof other === 'number';
    merged[name] = isCounted ? other + count - (typeof base === 'number' ? base : 0) : count;
  }
  return merged;
}

function asObject(value: JsonValue | undefined): Head {
  return isObject(value) ? value : {};
}

const PLACEHOLDER = 'No result yet: this call was still running elsewhere when the conversation went on.';

/** The result that a call keeps, and where it stood. */
interface Answer {
  readonly block: ToolResultBlock;
  readonly index: number;
  readonly rank: number;
}

/**
 * Puts every tool result right behind its call, in a list that several writers have added to. A call without a result
 * that others go on behind gets a placeholder; when the result itself comes, in a later merge, it takes its place. Of two
 * results of one call the one that succeeded stays, else the first. A result whose call is gone (summarized) goes too.
 */
function pairResults(messages: readonly Message[]): readonly Message[] {
  const answers = chooseAnswers(messages);
  const last = messages.findLastIndex((message) => toolResultsOf(message).length === 0);
  return messages.flatMap((message, index) => {
    const calls = toolUsesOf(message);
    const found = calls.flatMap(({ id }) => answers.get(id) ?? []);
    const indexes = [...new Set(found.map((answer) => answer.index))].sort((left, right) => left - right);
    const blocks = new Set(found.map(({ block }) => block));
    const results = indexes.flatMap((at) => only(messages[at], blocks));
    // A step that is still under way is left open: its results are yet to come.
    const open = index === last ? [] : calls.filter(({ id }) => !answers.has(id));
    return [...withoutResults(message), ...results, ...open.map(placeholder)];
  });
}

/** By call, the result that stays. */
function chooseAnswers(messages: readonly Message[]): ReadonlyMap<string, Answer> {
  const chosen = new Map<string, Answer>();
  for (const [index, message] of messages.entries()) {
    for (const block of toolResultsOf(message)) {
      const rank = message.metadata?.placeholder === true ? 0 : block.isError ? 1 : 2;
      const other = chosen.get(block.toolUseId);
      if (other === undefined || rank > other.rank) chosen.set(block.toolUseId, { block, index, rank });
    }
  }
  return chosen;
}

/** Leaves out results: the rest of a message holds its place, results follow their calls. */
function withoutResults(message: Message): readonly Message[] {
  if (toolResultsOf(message).length === 0) return [message];
  const content = message.content.filter(({ type }) => type !== 'tool_result');
  return content.length === 0 ? [] : [{ ...message, content }];
}

/** A message with those results alone that belong to the call; itself when that is all it has. */
function only(message: Message | undefined, results: ReadonlySet<unknown>): readonly Message[] {
  if (message === undefined) return [];
  const content = message.content.filter((block) => results.has(block));
  return [content.length === message.content.length ? message : { ...message, content }];
}

function placeholder(call: ToolUseBlock): Message {
  return toolResultMessage(call, PLACEHOLDER, { isError: true, metadata: { placeholder: true } });
}
