import { digest } from '../lib/digest.js';
import { same, wellFormed } from '../lib/well-formed.js';
import type { FileRole, Model } from '../model/model.js';
import type { ContentBlock, FileBlock, TextBlock, ToolOutputBlock } from './content-block.js';
import {
  byteLength,
  describeFile,
  inlineData,
  isTextual,
  mediaTypeOf,
  normalMediaType,
  textIn,
} from './media.js';
import type { Message } from './message.js';

/** The part of a model that decides what it can be sent. */
type Reader = Pick<Model, 'accepts'>;

const ANYTHING: Reader = {};

/** The converted messages, by model. Messages are immutable, so each is converted once. */
const known = new WeakMap<Reader, WeakMap<Message, Message>>();

/**
 * Converts the conversation so that the provider does not reject it. Unpaired surrogates become U+FFFD, calls with the same id get distinct
 * ids, and text files become text. A file that is invalid or that the model does not accept becomes a line that describes it and says how
 * to read it. The original conversation is not changed. The same messages give the same result.
 *
 * @param onReplaced Receives each line that replaces a file, once per model and message object.
 */
export function sendable(
  messages: readonly Message[],
  model: Reader = ANYTHING,
  onReplaced?: (line: string, message: Message) => void,
): readonly Message[] {
  const calls = new DistinctCalls();
  const made = messages.map((message) => calls.of(readableMessage(message, model, onReplaced)));
  return same(messages, made);
}

/** Converts a message for a model. The same message gives the same result. */
export function readableMessage(
  message: Message,
  model: Reader,
  onReplaced?: (line: string, message: Message) => void,
): Message {
  const { content } = message;
  if (!content.some(holdsFile) && wellFormed(content) === content) return message;
  const made = known.get(model) ?? new WeakMap<Message, Message>();
  known.set(model, made);
  const before = made.get(message);
  if (before !== undefined) return before;
  const after = readableBy(message, model, (line) => onReplaced?.(line, message));
  made.set(message, after);
  // Adapters get converted messages, so remember that these need no conversion.
  made.set(after, after);
  return after;
}

/** Tests if a block is a file, or a result with a file. */
export function holdsFile(block: ContentBlock): boolean {
  return block.type === 'file' || (block.type === 'tool_result' && block.output.some(holdsFile));
}

function readableBy(message: Message, model: Reader, onReplaced: (line: string) => void): Message {
  const role = message.role === 'system' ? 'user' : message.role;
  const replaced = (file: FileBlock, owner: FileRole) => readableFile(file, owner, model, onReplaced);
  const content = message.content.map((block): ContentBlock => {
    const whole = wellFormed(block);
    if (whole.type === 'file') return replaced(whole, role);
    // A signature is valid only for the exact bytes.
    if (whole !== block && whole.type === 'thinking') return { type: 'thinking', thinking: whole.thinking };
    if (whole.type !== 'tool_result') return whole;
    const output = whole.output.map(
      (part): ToolOutputBlock => (part.type === 'file' ? replaced(part, 'tool') : part),
    );
    return same(whole.output, output) === whole.output ? whole : { ...whole, output };
  });
  return same(message.content, content) === message.content ? message : { ...message, content };
}

/** Returns a file in the form that providers accept, its text, or a line that replaces it. */
function readableFile(
  file: FileBlock,
  role: FileRole,
  model: Reader,
  onReplaced: (line: string) => void,
): FileBlock | TextBlock {
  const inline = inlineData(file);
  const told = normalMediaType(inline?.mediaType ?? file.mediaType);
  const mediaType = (inline && mediaTypeOf(inline.data)) ?? told;
  const accepts = (bytes?: number) => model.accepts?.(mediaType, role, bytes) ?? true;
  const informed = inform(file, mediaType, inline?.data);
  const replace = (reason: string) => {
    const line = fileLine(informed, reason, model, role);
    onReplaced(line);
    return asText(file, line);
  };
  if (inline?.data === '') return replace('the file is empty, or its bytes are not valid base64.');
  const isText = isTextual(mediaType);
  if (isText && inline !== undefined && (model.accepts === undefined || !accepts())) {
    return asText(file, `[${file.filename ?? 'A file'} (${mediaType})]\n${textIn(inline.data)}`);
  }
  // If the text is not inline, the code that fetches it must check it.
  if (!accepts() && !(isText && inline === undefined))
    return replace('the model does not read files of this kind.');
  if (inline !== undefined && !accepts(byteLength(inline.data)))
    return replace('the file is too large for the model.');
  return informed;
}

/** Returns the file with its actual type and bytes, or the same file if they are correct. */
function inform(file: FileBlock, mediaType: string, data: string | undefined): FileBlock {
  const { source } = file;
  const isHeld = data === undefined || (source.type === 'base64' && source.data === data);
  if (isHeld && mediaType === file.mediaType) return file;
  return { ...file, mediaType, source: data === undefined ? source : { type: 'base64', data } };
}

function asText({ providerMetadata }: FileBlock, text: string): TextBlock {
  return { type: 'text', text, ...(providerMetadata === undefined ? {} : { providerMetadata }) };
}

/** Returns the line that replaces a file that the model cannot read. */
export function fileLine(file: FileBlock, reason: string, model: Reader, role: FileRole): string {
  const forms = [
    ['image/png', 'PNG'],
    ['application/pdf', 'PDF'],
  ].flatMap(([mediaType = '', form]) => (model.accepts?.(mediaType, role) === false ? [] : [form]));
  const { source } = file;
  const place =
    source.type === 'workspace'
      ? `It is in the workspace at ${source.path}.`
      : source.type === 'url'
        ? `Its address is ${source.url}.`
        : 'The log of the session keeps it.';
  const how = `To look at it, get it as ${[...forms, 'text'].join(' or ')}.`;
  return `[${describeFile(file)} cannot be shown to this model: ${reason} ${how} ${place}]`;
}

/** Gives each repeated call id, and its result, a distinct id. The same messages get the same ids. */
export class DistinctCalls {
  readonly #taken = new Map<string, number>();
  /** The new ids of calls whose results are still to come, by original id. */
  readonly #waiting = new Map<string, string[]>();

  /** Returns the next message of the conversation with distinct ids. */
  of(message: Message): Message {
    if (message.role === 'assistant') this.#waiting.clear();
    let content: ContentBlock[] | undefined;
    for (const [index, block] of message.content.entries()) {
      const owned = this.#owned(block, message.id);
      if (owned === block) continue;
      content ??= [...message.content];
      content[index] = owned;
    }
    return content === undefined ? message : { ...message, content };
  }

  #owned(block: ContentBlock, messageId: string): ContentBlock {
    if (block.type === 'tool_use') {
      const id = distinctId(block.id, messageId, this.#taken);
      const ids = this.#waiting.get(block.id);
      if (ids === undefined) this.#waiting.set(block.id, [id]);
      else ids.push(id);
      return id === block.id ? block : { ...block, id };
    }
    const toolUseId = block.type === 'tool_result' ? this.#waiting.get(block.toolUseId)?.shift() : undefined;
    if (block.type !== 'tool_result' || toolUseId === undefined || toolUseId === block.toolUseId)
      return block;
    return { ...block, toolUseId };
  }
}

/**
 * Returns the stored id of a call: the model's own, or, if another call has it, the id with a suffix derived from the message.
 *
 * @param taken Ids of other calls, each with the last number used. The result is added.
 */
export function distinctId(id: string, messageId: string, taken: Map<string, number>): string {
  if (!taken.has(id)) {
    taken.set(id, 0);
    return id;
  }
  const base = `${id}_${digest(messageId).slice(0, 8)}`;
  let own = id;
  let number = taken.get(base) ?? 0;
  while (taken.has(own)) own = ++number === 1 ? base : `${base}_${number}`;
  taken.set(own, 0);
  taken.set(base, number);
  return own;
}
