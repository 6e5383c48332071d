import {
  type ContentBlock,
  digest,
  exactText,
  type FileBlock,
  InvalidInputError,
  isObject,
  type JsonObject,
  type Message,
  opaquePart,
  type Part,
  parseWith,
  plainJson,
  type ToolOutputBlock,
  type ToolUseBlock,
} from '@x/core';
import * as z from 'zod/mini';
import { isSummaryText } from '../summary/summary-message.js';

/** Providers keep no times: one for all, so that a message is the same whenever it is read. */
const CREATED_AT = new Date(0).toISOString();

/** A message of a provider's API, where no type of the provider's library is named. */
export interface ProviderMessage {
  readonly role: string;
  readonly [key: string]: unknown;
}

/**
 * Reads a provider's messages, and writes them back. One adapter serves one conversation: it remembers which message it
 * read from which object. An object that got other content or calls, or more of them, is read anew.
 */
export interface MessageAdapter<Source extends object> {
  /**
   * Reads a list, or what was added to it since. The same object gives the same message. Ids follow from content and order,
   * so that another process reads the same ones. A list that begins with all that was read, or with what was written last,
   * keeps their ids where its objects are parsed anew. Any other list is one of new messages with new ids.
   *
   * @throws {InvalidInputError} naming the first bad message and every bad field of it.
   */
  read(sources: readonly Source[]): Message[];
  /**
   * Writes messages. One that nothing altered is the very object that it was read from; an altered one keeps all other parts.
   *
   * @throws {InvalidInputError} for a block that the provider has no words for.
   */
  write(messages: readonly Message[]): Source[];
}

/** The words of one provider. Texts, thoughts and results of {@link Part}s are in Anthropic's, whichever the provider. */
export interface Dialect {
  readonly name: string;
  /** The key under which messages and blocks carry what only this provider knows. */
  readonly key: string;
  readonly schema: z.ZodMiniType;
  /** The fields of a message and of a part that {@link Dialect} and adapter read; the others are carried. */
  readonly fields: readonly string[];
  split(source: ProviderMessage): readonly Part[];
  /** Writes a message; several results are several messages where the provider has it so. */
  join(role: Message['role'], parts: readonly Part[]): readonly ProviderMessage[] | undefined;
  /** Reads a text, a thought, a call or a file; `undefined` for another part, which is kept unread. */
  read(part: Part): ContentBlock | undefined;
  write(block: FileBlock | ToolUseBlock): Part | undefined;
}

/** A place of a list: the digest of an object's words and the id of its first message. */
interface Place {
  readonly role: string;
  readonly hash: string;
  readonly id: string;
  readonly isSummary: boolean;
}

/** An object that was read or written, the state it had then, and its messages. */
interface Reading extends Place {
  readonly source: ProviderMessage;
  readonly state: readonly unknown[];
  readonly messages: readonly Message[];
}

/** The fields that hold what a message says. */
const SAID = ['content', 'tool_calls', 'reasoning_content'] as const;

/** The fields of an object by identity and length, which tell that it was given other words or more of them. */
function stateOf(source: ProviderMessage): readonly unknown[] {
  return SAID.flatMap((field) => {
    const value = source[field];
    return Array.isArray(value) ? [value, value.length] : [value, undefined];
  });
}

/** The error for a message in the form that `useChat` of the AI SDK keeps. */
function unlike(subject: string): InvalidInputError {
  const message =
    'is of a UIMessage of the AI SDK: make it a ModelMessage with its convertToModelMessages, which @x/ai-sdk compacts';
  return new InvalidInputError(subject, [{ path: 'parts', message }]);
}

/** The error for what no adapter read. */
function unread(index: number): InvalidInputError {
  const message = 'must be a list of blocks: write takes the messages that read or a compactor gave';
  return new InvalidInputError(`message ${index}`, [{ path: 'content', message }]);
}

function checkList(list: unknown, method: string): void {
  if (Array.isArray(list)) return;
  const issue = { path: '', message: 'must be a list of messages' };
  throw new InvalidInputError(`argument of ${method}`, [issue]);
}

/** Places that are remembered of lists that do not continue one another. */
const MOST_PLACES = 100_000;

/** The adapter of a dialect. */
export class DialectAdapter<Source extends object> implements MessageAdapter<Source> {
  readonly #dialect: Dialect;
  readonly #bySource = new WeakMap<object, Reading>();
  readonly #byMessage = new WeakMap<Message, Reading>();
  readonly #parts = new WeakMap<ContentBlock | ToolOutputBlock, Part>();
  readonly #toolNames = new Map<string, string>();
  readonly #given = new Map<string, number>();
  // A list parsed anew begins with one of these, and its objects have the ids of their places. Any other list counts on.
  #read: readonly Place[] = [];
  #written: readonly Place[] = [];

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  read(given: readonly Source[]): Message[] {
    checkList(given, 'read');
    const sources = given as readonly object[] as readonly ProviderMessage[];
    const hashes = sources.map((source, index) => {
      const known = this.#knownOf(source);
      if (known === undefined) {
        const subject = `${this.#dialect.name} message ${index}`;
        if (isObject(source) && 'parts' in source && !('content' in source)) throw unlike(subject);
        parseWith(this.#dialect.schema, source, subject);
      }
      return known?.hash ?? hashOf(source);
    });
    const [first] = sources;
    const isGrown = first !== undefined && this.#knownOf(first) !== undefined;
    const before = [this.#read, this.#written].find(
      (list) => list.length > 0 && list.every(({ hash }, at) => hash === hashes[at]),
    );
    const isFirst = this.#read.length + this.#written.length === 0;
    // What is added later is the words of a user, however they look.
    const found = before === undefined ? this.#summaryIn(sources) : -1;
    const summary = isFirst || this.#isToldAgain(hashes.slice(found + 1)) ? found : -1;
    const readings = sources.map((source, at) => {
      const place = before?.[at];
      const hash = hashes[at] as string;
      const isSummary = place?.isSummary ?? at === summary;
      return (
        this.#knownOf(source) ??
        this.#readMessage(source, { hash, id: place?.id ?? this.#newId(hash), isSummary })
      );
    });
    const places = readings.map(placeOf);
    const isWhole =
      before !== undefined || isGrown || summary !== -1 || this.#read.length + places.length > MOST_PLACES;
    if (!isWhole && this.#written.length > 0) this.#written = [...this.#written, ...places];
    this.#read = isWhole ? places : [...this.#read, ...places];
    return readings.flatMap(({ messages }) => messages);
  }

  write(messages: readonly Message[]): Source[] {
    checkList(messages, 'write');
    const sources: ProviderMessage[] = [];
    const places: Place[] = [];
    for (let index = 0; index < messages.length; index++) {
      const message = messages[index] as Message;
      if (!Array.isArray(message.content)) throw unread(index);
      const reading = this.#byMessage.get(message);
      if (reading?.messages.every((own, at) => own === messages[index + at])) {
        sources.push(reading.source);
        places.push(placeOf(reading));
        index += reading.messages.length - 1;
        continue;
      }
      const rest = this.#carried(message.metadata);
      const parts = message.content.map((block) => this.#writePart(block));
      const made = this.#dialect.join(message.role, parts) ?? this.#refuse(`${message.role} message`);
      for (const words of made) {
        const source = { ...rest, ...words, ...(message.role === 'system' ? roleIn(rest) : {}) };
        const hash = hashOf(source);
        const isOne = made.length === 1;
        places.push(
          isOne
            ? placeOf(this.#remember(source, hash, [message]))
            : { role: source.role, hash, id: this.#newId(hash), isSummary: false },
        );
        sources.push(source);
      }
    }
    this.#written = places;
    // The few that are made anew are of the type's own kinds.
    return sources as object[] as Source[];
  }

  #remember(source: ProviderMessage, hash: string, messages: readonly Message[]): Reading {
    const [first] = messages;
    const isSummary = messages.some(({ kind }) => kind === 'summary');
    const id = first?.id ?? hash;
    const reading = { source, state: stateOf(source), role: source.role, hash, id, isSummary, messages };
    this.#bySource.set(source, reading);
    for (const message of messages) this.#byMessage.set(message, reading);
    return reading;
  }

  #knownOf(source: ProviderMessage): Reading | undefined {
    const known = isObject(source) ? this.#bySource.get(source) : undefined;
    if (known === undefined) return undefined;
    return stateOf(source).every((value, at) => value === known.state[at]) ? known : undefined;
  }

  /**
   * Tests for a list that is no addition but the conversation told anew, as another process reduced it: what stands behind its
   * summary keeps the end of the list before, up to what a model or a tool said last. An equal beginning tells nothing, nor
   * do words of a user: a user can edit what follows them, or repeat them.
   */
  #isToldAgain(behind: readonly string[]): boolean {
    return [this.#read, this.#written].some((list) => {
      const last = list.findLast(({ role }) => role !== 'user');
      return last !== undefined && behind.includes(last.hash);
    });
  }

  #newId(hash: string): string {
    const count = (this.#given.get(hash) ?? 0) + 1;
    this.#given.set(hash, count);
    return count === 1 ? hash : `${hash}-${count}`;
  }

  /** Finds the summary of a list: the first text of its form, in front of which only instructions and requests stand. */
  #summaryIn(sources: readonly ProviderMessage[]): number {
    let asked = 0;
    for (const [index, source] of sources.entries()) {
      if (source.role === 'system' || source.role === DEVELOPER) continue;
      if (source.role !== 'user') break;
      const parts = this.#dialect.split(source);
      const text = parts.map((part) => (part.type === 'text' ? String(part.text) : '')).join('');
      if (isSummaryText(text, asked > 0)) return index;
      asked++;
    }
    return -1;
  }

  #readMessage(source: ProviderMessage, { hash, id, isSummary }: Omit<Place, 'role'>): Reading {
    const blocks = this.#dialect.split(source).map((part) => this.#readPart(part));
    const results = blocks.filter(({ type }) => type === 'tool_result');
    const said = blocks.filter(({ type }) => type !== 'tool_result');
    const about = { createdAt: CREATED_AT, ...this.#carry('metadata', source) };
    const messages: Message[] = results.length > 0 ? [{ id, role: 'tool', content: results, ...about }] : [];
    if (said.length > 0 || results.length === 0) {
      const role = source.role === DEVELOPER ? 'system' : (source.role as Message['role']);
      const own = { id: results.length > 0 ? `${id}.1` : id, role, content: said, ...about };
      messages.push(isSummary ? { ...own, kind: 'summary' } : own);
    }
    return this.#remember(source, hash, messages);
  }

  #carry<Field extends string>(field: Field, source: object): { readonly [name in Field]?: JsonObject } {
    const rest = Object.entries(source).filter(
      ([own, value]) => !this.#dialect.fields.includes(own) || (own === 'role' && value === DEVELOPER),
    );
    return (
      rest.length === 0 ? {} : { [field]: { [this.#dialect.key]: plainJson(Object.fromEntries(rest)) } }
    ) as never;
  }

  #carried(metadata: JsonObject | undefined): object {
    const rest = metadata?.[this.#dialect.key];
    return isObject(rest) ? rest : {};
  }

  #readPart(part: Part): ContentBlock {
    const read = this.#blockOf(part);
    const { providerMetadata } = this.#carry('providerMetadata', part);
    const about = providerMetadata && { providerMetadata: { ...read.providerMetadata, ...providerMetadata } };
    const block = read.type === 'opaque' ? read : { ...read, ...about };
    if (block.type === 'tool_use') this.#toolNames.set(block.id, block.name);
    this.#parts.set(block, part);
    return block;
  }

  #blockOf(part: Part): ContentBlock {
    if (part.type !== 'tool_result') return this.#dialect.read(part) ?? opaquePart(part, this.#dialect.key);
    const toolUseId = String(part.tool_use_id);
    const output = partsOf(part.content).map((own): ToolOutputBlock => {
      const block = this.#readPart(own);
      if (block.type === 'text' || block.type === 'file') return block;
      const text: ToolOutputBlock = { type: 'text', text: JSON.stringify(own) };
      this.#parts.set(text, own);
      return text;
    });
    const toolName = this.#toolNames.get(toolUseId) ?? '';
    return { type: 'tool_result', toolUseId, toolName, output, isError: part.is_error === true };
  }

  #writePart(block: ContentBlock): Part {
    const what = block.type === 'opaque' ? `block of ${block.provider}` : `${block.type} block`;
    return this.#parts.get(block) ?? this.#newPart(block) ?? this.#refuse(what);
  }

  #refuse(what: string): never {
    const message = `a ${what} cannot be given to ${this.#dialect.name}; leave it out, or use reducers that write text`;
    throw new InvalidInputError('conversation', [{ path: 'content', message }]);
  }

  #newPart(block: ContentBlock): Part | undefined {
    const rest = this.#carried(block.providerMetadata);
    if (block.type === 'opaque')
      return block.provider === this.#dialect.key ? (block.data as Part) : undefined;
    if (block.type === 'text') return { ...rest, type: 'text', text: block.text };
    if (block.type === 'thinking') {
      const signed = block.signature === undefined ? {} : { signature: block.signature };
      return { ...rest, type: 'thinking', thinking: block.thinking, ...signed };
    }
    if (block.type === 'tool_result') {
      const content = contentOf(block.output.map((block) => this.#writePart(block)));
      const error = block.isError ? { is_error: true } : {};
      return { ...rest, type: 'tool_result', tool_use_id: block.toolUseId, content, ...error };
    }
    const part = this.#dialect.write(block);
    return part && { ...rest, ...part };
  }
}

/** The role of instructions in newer models of OpenAI. */
const DEVELOPER = 'developer';

function roleIn(rest: object): object {
  return 'role' in rest && rest.role === DEVELOPER ? { role: DEVELOPER } : {};
}

function placeOf({ role, hash, id, isSummary }: Place): Place {
  return { role, hash, id, isSummary };
}

function hashOf(source: ProviderMessage): string {
  return digest(exactText(source)).slice(0, 24);
}

/**
 * The schema of a message's content: a text, or parts.
 *
 * @param strings By the type of a part, the fields that must be strings.
 */
export function contentSchema(strings: { readonly [type: string]: readonly string[] }) {
  const part = z.looseObject({ type: z.string() }).check((context) => {
    const { value } = context;
    for (const [type, keys] of Object.entries(strings)) {
      for (const path of type === value.type ? keys : []) {
        if (typeof value[path] === 'string') continue;
        context.issues.push({ code: 'custom', path: [path], message: 'must be a string', input: value });
      }
    }
    if (value.type !== 'tool_result' || typeof (value.content ?? '') === 'string') return;
    const items = Array.isArray(value.content) ? value.content : undefined;
    const bad = items ? items.findIndex((item) => !isObject(item) || typeof item.type !== 'string') : 0;
    if (bad === -1) return;
    const [path, message] = items
      ? [['content', bad], 'must be an object with a type']
      : [['content'], 'must be a string or a list of parts'];
    context.issues.push({ code: 'custom', path, message, input: value });
  });
  return z.union([z.string(), z.array(part)]);
}

/** Parts of a content; a text is one, an empty one none. */
export function partsOf(content: unknown): readonly Part[] {
  if (typeof content !== 'string') return (content ?? []) as readonly Part[];
  return content === '' ? [] : [{ type: 'text', text: content }];
}

/** The content of parts; a string for a plain text alone. */
export function contentOf(parts: readonly Part[]): string | readonly Part[] {
  const [only, second] = parts;
  if (only === undefined) return '';
  const isPlain = second === undefined && only.type === 'text' && Object.keys(only).length === 2;
  return isPlain ? String(only.text) : parts;
}
