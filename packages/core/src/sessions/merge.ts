import type { AgentState } from '../agent/agent-state.js';
import { isObject, type JsonObject, type JsonValue } from '../lib/json.js';
import type { ToolResultBlock, ToolUseBlock } from '../messages/content-block.js';
import { type Message, toolResultMessage, toolResultsOf, toolUsesOf } from '../messages/message.js';

/** Two conversations with the same beginning. */
export interface Divergence {
  /** The messages at the common beginning. */
  readonly ancestor: readonly Message[];
  /** Current messages of this writer. */
  readonly ours: readonly Message[];
  /** Current messages in the store. */
  readonly stored: readonly Message[];
  /** Messages that this writer added since the ancestor, including those that its own compactions removed. */
  readonly added?: readonly Message[] | undefined;
}

/**
 * Merges the messages of both writers into one conversation, the stored ones first. If one writer compacted, its beginning is used.
 * If both did, the stored beginning is used, followed by our messages in full. Messages are matched by id.
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

/** Tests if the ancestor was compacted: a message was removed, changed or summarized. */
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
 * Merges heads three-way, by field and by extension: our value if we changed it since the ancestor, else the stored value. In an
 * extension's `counters`, the counts of both writers since the ancestor are added up.
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

/** Copies everything except the context from `merged` into `state`. Keeps the object itself, because others hold references to it. */
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

/** Merges the counters of an extension; `undefined` unless both writers have some. */
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

const PLACEHOLDER = 'No result yet: this call was still running elsewhere when the conversation continued.';

/** The result that is kept for a tool call, with the index of its message. */
interface Answer {
  readonly block: ToolResultBlock;
  readonly index: number;
  readonly rank: number;
}

/**
 * Moves every tool result directly after its call, in a list with messages of several writers. If a call has no result but other
 * messages follow it, it gets a placeholder, which a later merge replaces with the real result. If a call has two results, the
 * successful one is kept, else the first. A result without a call (it was summarized) is removed.
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
    // The last step is still running, so its calls stay open for their results.
    const open = index === last ? [] : calls.filter(({ id }) => !answers.has(id));
    return [...withoutResults(message), ...results, ...open.map(placeholder)];
  });
}

/** Selects the result to keep for each call id. */
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

/** Removes the tool results of a message. The rest of the message stays in its place; results follow their calls. */
function withoutResults(message: Message): readonly Message[] {
  if (toolResultsOf(message).length === 0) return [message];
  const content = message.content.filter(({ type }) => type !== 'tool_result');
  return content.length === 0 ? [] : [{ ...message, content }];
}

/** Returns a message with only the given results. If it contains nothing else, returns it unchanged. */
function only(message: Message | undefined, results: ReadonlySet<unknown>): readonly Message[] {
  if (message === undefined) return [];
  const content = message.content.filter((block) => results.has(block));
  return [content.length === message.content.length ? message : { ...message, content }];
}

function placeholder(call: ToolUseBlock): Message {
  return toolResultMessage(call, PLACEHOLDER, { isError: true, metadata: { placeholder: true } });
}
