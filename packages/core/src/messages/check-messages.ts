import { issuesOf } from '../config/parse.js';
import { InvalidInputError, type Issue } from '../errors/invalid-input-error.js';
import { digest } from '../lib/digest.js';
import { isObject, type JsonValue, jsonFault } from '../lib/json.js';
import { errorText } from '../lib/text.js';
import { warn } from '../lib/warn.js';
import { same, wellFormed } from '../lib/well-formed.js';
import type { ContentBlock, OpaqueBlock } from './content-block.js';
import type { Message } from './message.js';
import { contentBlockSchema, messageSchema } from './message-schemas.js';

/** Messages that have been checked. They are immutable, so each is checked once. */
const checked = new WeakSet<object>();

/** The provider of an opaque block that stands for an invalid stored block or message. */
const DAMAGED = 'damaged';

/**
 * Checks messages from callers, models, tools, hooks and imports. Rejects invalid messages, and replaces unpaired surrogates in every text,
 * because providers reject requests that contain one. Returns the same list if nothing changes.
 *
 * @param path The path of the list in its subject.
 * @throws {InvalidInputError} with the path of every invalid field.
 */
export function admitMessages(values: readonly unknown[], subject: string, path = ''): readonly Message[] {
  checkMessages(values, subject, path);
  return same(values, values.map(wellFormed));
}

/**
 * Checks messages before they are stored. Valid messages survive `JSON.stringify`, and every store can load them. A message object that was
 * valid is not checked again.
 *
 * @param path The path of the list in its subject.
 * @param start The index of the first value in that list.
 * @throws {InvalidInputError} with the path of every invalid field.
 */
export function checkMessages(
  values: readonly unknown[],
  subject: string,
  path = '',
  start = 0,
): asserts values is readonly Message[] {
  const issues: Issue[] = [];
  for (const [index, value] of values.entries())
    for (const issue of faultsOf(value))
      issues.push({ ...issue, path: join(`${path}[${start + index}]`, issue.path) });
  if (issues.length > 0) throw new InvalidInputError(subject, issues);
}

/** Marks messages as checked, for a store that has copies of checked messages. */
export function vouchFor(messages: readonly Message[]): readonly Message[] {
  for (const message of messages) checked.add(message);
  return messages;
}

/**
 * Reads stored messages: JSON texts, or parsed values. Fields of later versions are kept. An unreadable block, or the invalid content of a
 * message, becomes an opaque block that keeps its data. Each causes a process warning.
 *
 * @param owner Names the session in a warning.
 */
export function readMessages(stored: readonly unknown[], owner: string): readonly Message[] {
  return stored.map((item, index) => {
    const value = typeof item === 'string' ? parsed(item) : item;
    const faults = faultsOf(value);
    if (faults.length === 0) return value as Message;
    const what = faults.map((fault) => `${fault.path || 'it'} ${fault.message}`).join('; ');
    warn(
      `Message ${index} of ${owner} cannot be read (${what}). The conversation continues with a placeholder that keeps its data.`,
    );
    return placeholderOf(value as JsonValue, index);
  });
}

function placeholderOf(value: JsonValue, index: number): Message {
  const data = value ?? null;
  if (isObject(data) && Array.isArray(data.content)) {
    const content = data.content.map((block: JsonValue): ContentBlock => {
      return contentBlockSchema.safeParse(block).success ? (block as unknown as ContentBlock) : opaque(block);
    });
    const message = { ...data, content };
    if (faultsOf(message).length === 0) return message as unknown as Message;
  }
  const hash = digest(JSON.stringify(data)).slice(0, 16);
  return {
    id: `${DAMAGED}-${index}-${hash}`,
    role: 'assistant',
    content: [opaque(data)],
    createdAt: new Date(0).toISOString(),
    kind: 'synthetic',
  };
}

function opaque(data: JsonValue): OpaqueBlock {
  return { type: 'opaque', provider: DAMAGED, data };
}

function faultsOf(value: unknown): readonly Issue[] {
  if (isObject(value) && checked.has(value)) return [];
  try {
    const { error } = messageSchema.safeParse(value);
    if (error) return issuesOf(error);
    const fault = jsonFault(value);
    if (fault !== undefined) return [fault];
  } catch (error) {
    return [{ path: '', message: `cannot be read: ${errorText(error)}` }];
  }
  checked.add(value as object);
  return [];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return { text, error: errorText(error) };
  }
}

function join(parent: string, path: string): string {
  return path === '' || path.startsWith('[') ? `${parent}${path}` : `${parent}.${path}`;
}
