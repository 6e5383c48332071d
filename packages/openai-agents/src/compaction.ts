import type { AgentInputItem } from '@openai/agents';
import {
  type CompactionOutcome,
  type CompactOptions,
  type Compactor,
  type ContentBlock,
  estimateCounter,
  InvalidInputError,
  type ItemLog,
  type JsonObject,
  type JsonValue,
  type Message,
  SessionConflictError,
  textOf,
} from '@x/core';
import { type ItemChange, type ItemHistory, isObject } from '@x/core/internal';
import { countMessages, itemRole, openaiItems, originOf, partsFrom, readBlocks } from '@x/core/messages';
import { fromJson, toStored } from './stored-item.js';

/** A stored item with its blocks in the view. */
interface ViewPart {
  readonly stored: Message;
  readonly item: JsonObject;
  readonly blocks: readonly ContentBlock[];
}

/** A message of the view with the items that it was made from. */
export interface ViewEntry {
  readonly message: Message;
  readonly parts: readonly ViewPart[];
}

/**
 * Converts a stored history for a compactor. Consecutive items of a model (reasoning, texts, calls) become one message, so that reasoning
 * is kept or removed together with its calls.
 */
export function toView(history: readonly Message[], log: ItemLog): readonly ViewEntry[] {
  const turns: { first: Message; parts: ViewPart[] }[] = [];
  for (const stored of history) {
    const item = log.item(stored);
    const role = itemRole(item);
    const part = { stored, item, blocks: itemBlocks(item) };
    const last = turns.at(-1);
    if (role === 'assistant' && last?.first.role === 'assistant') last.parts.push(part);
    else turns.push({ first: { ...stored, role }, parts: [part] });
  }
  return turns.map(({ first, parts }) => ({
    message: { ...first, content: parts.flatMap(({ blocks }) => blocks) },
    parts,
  }));
}

/** Converts an item to blocks, so that it can be counted and reduced. Reasoning stays unchanged, because it may be encrypted. */
function itemBlocks(item: JsonObject): readonly ContentBlock[] {
  if (item.type === 'reasoning') return [{ type: 'opaque', provider: openaiItems.key, data: item }];
  return readBlocks(openaiItems, item);
}

/**
 * Converts a reduced view to stored messages. Unchanged parts keep their stored messages.
 *
 * @param lost Parts that stay in their answer although the compactor removed them.
 * @throws {InvalidInputError} if a message of the compactor cannot be expressed as an item.
 */
export function fromView(
  reduced: readonly Message[],
  entries: readonly ViewEntry[],
  log: ItemLog,
  lost: readonly ViewPart[] = [],
): readonly Message[] {
  const byId = new Map(entries.map((entry) => [entry.message.id, entry]));
  return reduced.flatMap((message) => {
    const entry = byId.get(message.id);
    if (entry === undefined) return [made(message, log)];
    if (entry.message === message) return entry.parts.map(({ stored }) => stored);
    return altered(message, entry, log, lost);
  });
}

/** Converts a message that the compactor added, such as a summary or a note. */
function made(message: Message, log: ItemLog): Message {
  const { role, content } = message;
  if (role === 'tool' || content.some((block) => block.type !== 'text')) {
    const problem = `of a ${role} message has blocks that cannot be items: ${content.map(({ type }) => type)}. Use only stages that write text`;
    throw new InvalidInputError('reduced history', [{ path: 'content', message: problem }]);
  }
  const text = textOf(content);
  const item: AgentInputItem =
    role === 'user'
      ? { type: 'message', role, content: [{ type: 'input_text', text }] }
      : role === 'system'
        ? { type: 'message', role, content: text }
        : { type: 'message', role, status: 'completed', content: [{ type: 'output_text', text }] };
  return holding(message, toStored(log, item));
}

function altered(
  message: Message,
  { message: before, parts }: ViewEntry,
  log: ItemLog,
  lost: readonly ViewPart[],
): readonly Message[] {
  const { content } = message;
  // Stages change blocks in place or remove some. Blocks that moved up are still the same objects.
  const inPlace = content.length === before.content.length;
  let position = 0;
  const kept = parts.flatMap((part): Message[] => {
    const from = position;
    position += part.blocks.length;
    const blocks = inPlace ? content.slice(from, position) : content.filter((block) => isOf(block, part));
    if (blocks.length === 0) return lost.includes(part) ? [part.stored] : [];
    if (blocks.length === part.blocks.length && blocks.every((block, at) => block === part.blocks[at])) {
      return [part.stored];
    }
    const item = changedItem(part, blocks);
    if (item === part.item) return [part.stored];
    return [holding(part.stored, toStored(log, fromJson(item) as AgentInputItem))];
  });
  const [first, ...others] = kept;
  return first === undefined ? [] : [holding(message, first), ...others];
}

function isOf(block: ContentBlock, { blocks }: ViewPart): boolean {
  return blocks.some((own) => {
    if (own === block) return true;
    if (own.type === 'tool_use') return block.type === 'tool_use' && own.id === block.id;
    return own.type === 'tool_result' && block.type === 'tool_result' && own.toolUseId === block.toolUseId;
  });
}

/** Returns the item with the changes of its blocks. Items without a text field stay unchanged. */
function changedItem({ item, blocks: before }: ViewPart, blocks: readonly ContentBlock[]): JsonObject {
  const [block] = blocks;
  if (item.type === 'function_call' && block?.type === 'tool_use') {
    return { ...item, arguments: JSON.stringify(block.input) };
  }
  if (item.type === 'function_call_result' && block?.type === 'tool_result') {
    const texts = block.output.flatMap((part) => (part.type === 'text' ? [part.text] : []));
    return texts.length < block.output.length ? item : { ...item, output: texts.join('\n') };
  }
  const { content } = item;
  if (typeof content === 'string') return { ...item, content: textOf(blocks) };
  if (!Array.isArray(content) || blocks.length !== before.length) return item;
  const type = item.role === 'assistant' ? 'output_text' : 'input_text';
  const parts = partsFrom(blocks, before, (block, was) => {
    const part = was && originOf(was);
    if (block.type !== 'text') return undefined;
    // Keep the part's other fields.
    return { type, ...(part && 'text' in part ? part : {}), text: block.text };
  });
  return { ...item, content: parts as readonly JsonValue[] };
}

/** Returns the message with another item in it. */
function holding(message: Message, { role, content }: Message): Message {
  return { ...message, role, content };
}

/**
 * Returns the removed parts of the last interrupted answer that have to stay: its open calls and its reasoning. If a person approves such a
 * call, the run that made it adds only the result, which providers reject without the call. Calls of earlier answers were abandoned.
 */
function lostParts(entries: readonly ViewEntry[], reduced: readonly Message[]): readonly ViewPart[] {
  const items = entries.flatMap(({ parts }) => parts.map(({ item }) => item));
  const answered = new Set(items.filter(isAnswer).map(linkOf));
  const isOpen = ({ item }: ViewPart) => linkOf(item) !== undefined && !answered.has(linkOf(item));
  const { parts } = entries.findLast((entry) => entry.parts.some(isOpen)) ?? { parts: [] };
  const left = reduced.flatMap(({ content }) => content);
  const isLost = (part: ViewPart) => !left.some((block) => isOf(block, part));
  return parts.filter((part) => (isOpen(part) || part.item.type === 'reasoning') && isLost(part));
}

/** Returns the id that a call shares with its result, or an approval request of a hosted MCP tool with its response. */
function linkOf({ name, id, callId, providerData }: JsonObject): JsonValue | undefined {
  if (name === 'mcp_approval_request') return id;
  return name === APPROVAL && isObject(providerData) ? providerData.approval_request_id : callId;
}

const APPROVAL = 'mcp_approval_response';

function isAnswer(item: JsonObject): boolean {
  return item.name === APPROVAL || itemRole(item) === 'tool';
}

/**
 * Returns the outcome with the messages that stay although the compactor removed them.
 *
 * @param result All messages that are left.
 */
function withKept(
  outcome: CompactionOutcome,
  kept: readonly Message[],
  result: readonly Message[],
  log: ItemLog,
): CompactionOutcome {
  if (kept.length === 0) return outcome;
  const { messages, tokensAfter, manifest } = outcome;
  const view = toView(result, log).map(({ message }) => message);
  const added = countMessages(estimateCounter, view) - countMessages(estimateCounter, messages);
  const ids = new Set(kept.map(({ id }) => id));
  return {
    ...outcome,
    tokensAfter: tokensAfter + added,
    messagesAfter: view.length,
    manifest: manifest.filter(({ messageId }) => !ids.has(messageId)),
  };
}

/**
 * Compacts the history of a session. The compactor runs once, even if concurrent writes require recomputing the change. If the compaction
 * fails or cannot be expressed as items, nothing changes.
 */
export async function compactHistory(
  log: ItemLog,
  compactor: Compactor,
  options: CompactOptions,
): Promise<CompactionOutcome | undefined> {
  let outcome: CompactionOutcome | undefined;
  let done: { readonly ids: readonly string[]; readonly result: readonly Message[] } | undefined;
  const reduce = async (messages: readonly Message[]) => {
    const entries = toView(messages, log);
    outcome = await compactor.compact(
      entries.map(({ message }) => message),
      { ...options, textOnly: true },
    );
    if (outcome.status !== 'applied') return undefined;
    const lost = lostParts(entries, outcome.messages);
    const reduced = fromView(outcome.messages, entries, log, lost);
    // Only the provider can read its own compaction, which is all that is left of the items before it.
    const isSealed = (message: Message) => log.item(message).type === 'compaction';
    const sealed = reduced.some(isSealed) ? [] : messages.filter(isSealed).slice(-1);
    const kept = lost.map(({ stored }) => stored);
    const staying = new Set(outcome.messages.map(({ id }) => id));
    const isInAnswer = entries.some(
      ({ message, parts }) => staying.has(message.id) && parts.some((part) => lost.includes(part)),
    );
    const result = [...sealed, ...(isInAnswer ? [] : kept), ...reduced];
    outcome = withKept(outcome, [...sealed, ...kept], result, log);
    done = { ids: messages.map(({ id }) => id), result };
    return result;
  };
  const plan = async ({ messages }: ItemHistory): Promise<ItemChange | undefined> => {
    // If other writers only appended items, the result is still valid for the beginning of the history.
    const isGrown = done?.ids.every((id, index) => messages[index]?.id === id);
    const result =
      done && isGrown ? [...done.result, ...messages.slice(done.ids.length)] : await reduce(messages);
    if (result === undefined) return undefined;
    const differs = messages.findIndex((message, index) => message !== result[index]);
    const keep = differs === -1 ? messages.length : differs;
    return { keep, append: result.slice(keep) };
  };
  try {
    await log.change(plan);
    return outcome;
  } catch (error) {
    // There were too many concurrent writes, or no items for the result. The history is unchanged; the next turn tries again.
    const known = SessionConflictError.isInstance(error) || InvalidInputError.isInstance(error);
    if (!known || outcome === undefined) throw error;
    return { ...(outcome as CompactionOutcome), status: 'failed', message: error.message };
  }
}
