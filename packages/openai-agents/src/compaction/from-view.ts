import type { AgentInputItem } from '@openai/agents';
import {
  type ContentBlock,
  InvalidInputError,
  type ItemLog,
  isObject,
  type JsonObject,
  type Message,
  textOf,
} from '@x/core';
import { fromJson, toStored } from '../stored-item.js';
import type { ViewEntry, ViewPart } from './view.js';

/**
 * A reduced view as stored messages: the very ones that were stored wherever nothing changed.
 *
 * @throws {InvalidInputError} for a message that the compactor made and no item can say.
 */
export function fromView(
  reduced: readonly Message[],
  entries: readonly ViewEntry[],
  log: ItemLog,
): readonly Message[] {
  const byId = new Map(entries.map((entry) => [entry.message.id, entry]));
  return reduced.flatMap((message) => {
    const entry = byId.get(message.id);
    if (entry === undefined) return [made(message, log)];
    if (entry.message === message) return entry.parts.map(({ stored }) => stored);
    return altered(message, entry, log);
  });
}

/** A message that was not there before: a summary, a note. */
function made(message: Message, log: ItemLog): Message {
  const { role, content } = message;
  if (role === 'tool' || content.some((block) => block.type !== 'text')) {
    const problem = `a ${role} message of ${content.map(({ type }) => type)} cannot be an item; use reducers that write text`;
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

function altered(message: Message, { message: before, parts }: ViewEntry, log: ItemLog): readonly Message[] {
  const { content } = message;
  // Reducers change blocks in their places or take some out; those that moved up are still the same objects.
  const inPlace = content.length === before.content.length;
  let position = 0;
  const kept = parts.flatMap((part): Message[] => {
    const from = position;
    position += part.blocks.length;
    const blocks = inPlace ? content.slice(from, position) : content.filter((block) => isOf(block, part));
    if (blocks.length === 0) return [];
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

/** The item with what was changed. Items that have no place for a text stay as they are. */
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
  const parts = blocks.flatMap((part, at) => {
    if (part === before[at]) return [content[at]];
    if (part.type !== 'text') return [];
    const was = content[at];
    // What else the part holds stays.
    return [isObject(was) && 'text' in was ? { ...was, text: part.text } : { type, text: part.text }];
  });
  return { ...item, content: parts };
}

/** The message with another item in it. */
function holding(message: Message, { role, content }: Message): Message {
  return { ...message, role, content };
}
