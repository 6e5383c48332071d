import { atOnce, type Work } from '../lib/in-pieces.js';
import { jsonText } from '../lib/json.js';
import type { ContentBlock, FileBlock } from '../messages/content-block.js';
import { encodedBytes, isTextual } from '../messages/media.js';
import { type Message, nativeIndex } from '../messages/message.js';
import type { ToolDefinition } from '../model/model.js';

/** Tokens that providers add to each message for its role and separators. */
const MESSAGE_OVERHEAD = 4;
/** Tokens that providers add to a tool call, a tool result or a tool definition. */
const BLOCK_OVERHEAD = 6;
/** Tokens that providers bill for an image of a common size. */
const IMAGE_TOKENS = 1_600;
/** Providers bill a document page as text and image. A page has about 100 KB. */
const DOCUMENT_TOKENS_PER_100_KB = 3_000;
const AUDIO_TOKENS_PER_100_KB = 1_000;

/** Matches an encoded PNG, JPEG, GIF or WebP picture in JSON, such as a screenshot in an item of a provider. */
const PICTURE = /(?<=")(?:data:image\/[\w.+-]+;base64,)?(?:iVBORw0KGgo|\/9j\/|R0lGOD|UklGR)[\w+/=-]{1000,}/;
/**
 * Matches an encrypted text in the JSON of a provider's item, such as a thought or a search result, by the name of its field. Other long
 * words are texts, such as a hex dump that a tool returned.
 */
const SEALED = /(?<=^"|"(?:data|\w*(?:encrypted|redacted|signature)\w*)":")[\w+/=-]{1000,}(?=")/i;
/** Letters of an encrypted text per token: a token has about four bytes, and four letters hold three bytes. */
const SEALED_PER_TOKEN = 5;

/** The counts of messages, results and tools, which are immutable, by counter. */
const counts = new WeakMap<TokenCounter, WeakMap<object, number>>();

/**
 * Counts the tokens of one message as its provider bills them. For a summary with a provider's own compaction, counts what that provider
 * gets. The count is cached per message object.
 */
export function countMessage(counter: TokenCounter, message: Message): number {
  return remembered(counter, message, () => atOnce(messageWork(counter, message)));
}

function* messageWork(counter: TokenCounter, message: Message): Work<number> {
  let total = MESSAGE_OVERHEAD;
  const sent = message.content.slice(Math.max(0, nativeIndex(message)));
  for (const block of sent) total += yield* blockWork(counter, block);
  return total;
}

/** Counts messages in advance in pieces, so that later counts are cached. */
export function* countWork(counter: TokenCounter, messages: readonly Message[]): Work<void> {
  for (const message of messages) {
    const table = countsOf(counter);
    if (table.has(message)) continue;
    table.set(message, yield* messageWork(counter, message));
    yield;
  }
}

/** Counts the tokens of many messages. */
export function countMessages(counter: TokenCounter, messages: readonly Message[]): number {
  let total = 0;
  for (const message of messages) total += countMessage(counter, message);
  return total;
}

/** Counts the tokens of a tool's definition. The count is cached per definition object. */
export function countTool(counter: TokenCounter, tool: ToolDefinition): number {
  return remembered(counter, tool, () => {
    const { name, description, inputSchema } = tool;
    return (
      BLOCK_OVERHEAD +
      counter.count(name) +
      counter.count(description) +
      counter.count(JSON.stringify(inputSchema))
    );
  });
}

/** Counts the tokens of a system prompt with its overhead; 0 without a system prompt. */
export function countSystem(counter: TokenCounter, system: string | undefined): number {
  return system ? MESSAGE_OVERHEAD + counter.count(system) : 0;
}

/** Counts the tokens of a whole request: system prompt, tool definitions and every block of every message. */
export function countRequest(
  counter: TokenCounter,
  request: {
    readonly system?: string | undefined;
    readonly tools?: readonly ToolDefinition[] | undefined;
    readonly messages: readonly Message[];
  },
): number {
  let total = countSystem(counter, request.system);
  for (const tool of request.tools ?? []) total += countTool(counter, tool);
  return total + countMessages(counter, request.messages);
}

/** Counts the tokens of one block. */
export function countBlock(counter: TokenCounter, block: ContentBlock): number {
  return atOnce(blockWork(counter, block));
}

function* blockWork(counter: TokenCounter, block: ContentBlock): Work<number> {
  switch (block.type) {
    case 'text':
      return block.text.length <= SLICE ? counter.count(block.text) : yield* textWork(counter, block.text);
    case 'thinking':
      return yield* textWork(counter, block.thinking);
    case 'file':
      return countFile(block);
    case 'tool_use':
      return BLOCK_OVERHEAD + counter.count(block.name) + (yield* textWork(counter, jsonText(block.input)));
    case 'tool_result': {
      // Counts of results are cached too, because they are requested again after the message was counted.
      const table = countsOf(counter);
      let total = table.get(block) ?? 0;
      if (total > 0) return total;
      total = BLOCK_OVERHEAD;
      for (const part of block.output) total += yield* blockWork(counter, part);
      table.set(block, total);
      return total;
    }
    case 'opaque': {
      if (block.tokens !== undefined) return block.tokens;
      const pieces = jsonText(block.data).split(PICTURE);
      const readable = pieces.flatMap((piece) => piece.split(SEALED));
      const sealed = pieces.join('').length - readable.join('').length;
      const others = (pieces.length - 1) * IMAGE_TOKENS + Math.ceil(sealed / SEALED_PER_TOKEN);
      return others + (yield* textWork(counter, readable.join('')));
    }
  }
}

/** UTF-16 units per slice of a long text. */
const SLICE = 100_000;
/** A slice ends at a line break within this many UTF-16 units of its end, if there is one. */
const EDGE = 2_000;

/** Counts a text slice by slice. A slice ends at a line break if possible, because the tokens of all tokenizers end there too. */
function* textWork(counter: TokenCounter, text: string): Work<number> {
  let total = 0;
  for (let start = 0; start < text.length; ) {
    const most = start + SLICE;
    const lineEnd = most < text.length ? text.slice(most - EDGE, most).lastIndexOf('\n') : -1;
    const end = lineEnd === -1 ? most : most - EDGE + lineEnd + 1;
    total += counter.count(start === 0 && end >= text.length ? text : text.slice(start, end));
    start = end;
    if (start < text.length) yield;
  }
  return total;
}

/** Counts the tokens of a text up to `most`. If there are more, returns a larger number. */
export function countUpTo(counter: TokenCounter, text: string, most: number): number {
  let total = 0;
  for (let start = 0; start < text.length && total <= most; start += SLICE)
    total += counter.count(text.slice(start, start + SLICE));
  return total;
}

function countFile(file: FileBlock): number {
  if (file.mediaType.startsWith('image/')) return IMAGE_TOKENS;
  const encoded = encodedBytes(file);
  if (encoded === undefined) return DOCUMENT_TOKENS_PER_100_KB;
  const bytes = encoded.length * 0.75;
  const hundredKilobytes = bytes / 100_000;
  if (isTextual(file.mediaType)) return Math.ceil(bytes / 3.5);
  const rate = file.mediaType.startsWith('audio/') ? AUDIO_TOKENS_PER_100_KB : DOCUMENT_TOKENS_PER_100_KB;
  return Math.max(1, Math.ceil(hundredKilobytes)) * rate;
}

function remembered(counter: TokenCounter, key: Message | ToolDefinition, count: () => number): number {
  const table = countsOf(counter);
  const tokens = table.get(key) ?? count();
  table.set(key, tokens);
  return tokens;
}

function countsOf(counter: TokenCounter): WeakMap<object, number> {
  const known = counts.get(counter);
  if (known !== undefined) return known;
  const table = new WeakMap<object, number>();
  counts.set(counter, table);
  return table;
}

/**
 * Counts tokens. It must be deterministic and cheap: the harness counts every message once and caches the number. To count whole messages
 * and requests, use `countMessage` and `countRequest`.
 */
export interface TokenCounter {
  /** Name for reports, for example `o200k_base`. */
  readonly name: string;
  /** Tokens of a text, without any overhead. */
  count(text: string): number;
}
