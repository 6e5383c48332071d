import { createRequire } from 'node:module';
import { headOf, InvalidInputError, type TokenCounter } from '@x/core';

/** `o200k_base` is the encoding of OpenAI's models since GPT-4o, `cl100k_base` that of GPT-4 and GPT-3.5. */
export type TiktokenEncoding = 'o200k_base' | 'cl100k_base';

const ENCODINGS: readonly TiktokenEncoding[] = ['o200k_base', 'cl100k_base'];

/** Counts exactly as OpenAI's tiktoken does. */
export interface TiktokenCounter extends TokenCounter {
  readonly name: TiktokenEncoding;
  /** Loads the encoding's data now, in place of the first `count`: once per process. */
  load(): void;
}

const counters = new Map<TiktokenEncoding, TiktokenCounter>();

/**
 * Gives the exact counter of an encoding: always the same object, so that callers share the counts of messages.
 *
 * The names of special tokens, such as `<|endoftext|>`, are counted as the text that they are: a file or a tool's
 * output may contain them, and a provider does not take them from a message as control tokens either.
 *
 * Counting takes O(n log n) time whatever the text is. The encoding's data is js-tiktoken's, loaded at the first count.
 *
 * @param encoding defaults to `o200k_base`
 * @throws InvalidInputError if there is no such encoding
 */
export function tiktokenCounter(encoding: TiktokenEncoding = 'o200k_base'): TiktokenCounter {
  let counter = counters.get(encoding);
  if (counter === undefined) {
    counter = createCounter(encoding);
    counters.set(encoding, counter);
  }
  return counter;
}

function createCounter(encoding: TiktokenEncoding): TiktokenCounter {
  if (!ENCODINGS.includes(encoding)) {
    const message = `Expected one of ${ENCODINGS.join(', ')}, got ${String(encoding)}`;
    throw new InvalidInputError('token encoding', [{ path: '', message }]);
  }
  let data: Encoding | undefined;
  const load = () => {
    data ??= loadEncoding(encoding);
    return data;
  };
  return Object.freeze({
    name: encoding,
    count: (text: string) => countTokens(text, load()),
    load: () => void load(),
  });
}

interface Encoding {
  /** Finds the pieces of a text; no token reaches over the end of one. */
  readonly pieces: RegExp;
  /** Ranks by token, whose bytes are the units of a string (Latin-1). */
  readonly ranks: ReadonlyMap<string, number>;
}

/** The characters of `\s` in Rust, in which tiktoken is written: JavaScript's has U+FEFF too, and lacks U+0085. */
const SPACE = String.raw`\t-\r\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000`;

function loadEncoding(encoding: TiktokenEncoding): Encoding {
  const require = createRequire(import.meta.url);
  const { bpe_ranks, pat_str } = require(`js-tiktoken/ranks/${encoding}`) as Record<string, string>;
  const ranks = new Map<string, number>();
  // Lines of `! <rank of the first token> <base64> <base64> …`, each token ranking one above the token before it.
  for (const line of bpe_ranks?.split('\n') ?? []) {
    const [, first, ...tokens] = line.split(' ');
    for (const [index, token] of tokens.entries()) {
      ranks.set(atob(token), Number(first) + index);
    }
  }
  let inClass = false;
  const pattern = pat_str?.replaceAll(/\\.|[[\]]|\((?!\?)/g, (part) => {
    if (part === '[' || part === ']') inClass = part === '[';
    if (part === '(') return '(?:';
    if (part === String.raw`\S`) return `[^${SPACE}]`;
    if (part === String.raw`\s`) return inClass ? SPACE : `[${SPACE}]`;
    return part;
  });
  return { pieces: new RegExp(pattern ?? '', 'gu'), ranks };
}

/** UTF-16 units that are split into pieces at once. A border between two such parts costs a token at most. */
const MOST_UNITS = 1_000_000;
const NON_ASCII = /[^\0-\x7f]/;

function countTokens(text: string, encoding: Encoding): number {
  let count = 0;
  for (let start = 0; start < text.length; ) {
    const part = headOf(text.slice(start), MOST_UNITS);
    start += part.length;
    for (const piece of part.match(encoding.pieces) ?? []) {
      const bytes = NON_ASCII.test(piece) ? Buffer.from(piece).toString('latin1') : piece;
      count += bytes.length === 1 || encoding.ranks.has(bytes) ? 1 : countMerged(bytes, encoding);
    }
  }
  return count;
}

/** A rank and an offset share one number of the heap: `rank * OFFSETS + offset`, which stays below 2^53. */
const OFFSETS = 2 ** 32;
const NO_RANK = -1;
/**
 * The number of tokens that byte-pair encoding (Sennrich, Haddow and Birch 2016) leaves of a piece: of all neighbors that are
 * a token together, the ones of the lowest rank are joined, the leftmost first, until none are. A heap yields the pair to
 * join next, since a word of 200,000 letters or Chinese without punctuation is one piece. A pair that a join made
 * obsolete stays in the heap: its rank is no longer the one at its offset.
 */
function countMerged(bytes: string, { ranks }: Encoding): number {
  const { length } = bytes;
  const next = new Int32Array(length);
  const previous = new Int32Array(length + 1);
  const rankAt = new Int32Array(length);
  const heap: number[] = [];
  const offer = (part: number) => {
    const other = next[part] as number;
    const rank = other < length ? ranks.get(bytes.slice(part, next[other])) : undefined;
    rankAt[part] = rank ?? NO_RANK;
    if (rank !== undefined) push(heap, rank * OFFSETS + part);
  };
  for (let part = 0; part < length; part++) {
    next[part] = part + 1;
    previous[part + 1] = part;
  }
  for (let part = 0; part < length; part++) offer(part);
  let count = length;
  while (heap.length > 0) {
    const least = pop(heap);
    const part = least % OFFSETS;
    if (rankAt[part] !== (least - part) / OFFSETS) continue;
    const absorbed = next[part] as number;
    const after = next[absorbed] as number;
    next[part] = after;
    previous[after] = part;
    rankAt[absorbed] = NO_RANK;
    count--;
    offer(part);
    if (part > 0) offer(previous[part] as number);
  }
  return count;
}

/** Adds to a binary heap, which has the least number first. */
function push(heap: number[], item: number): void {
  let index = heap.push(item) - 1;
  while (index > 0) {
    const parent = (index - 1) >> 1;
    const above = heap[parent] as number;
    if (above <= item) break;
    heap[index] = above;
    index = parent;
  }
  heap[index] = item;
}

/** Takes the least number out of a heap that is not empty. */
function pop(heap: number[]): number {
  const least = heap[0] as number;
  const item = heap.pop() as number;
  if (heap.length === 0) return least;
  let index = 0;
  for (let child = 1; child < heap.length; child = 2 * index + 1) {
    if (child + 1 < heap.length && (heap[child + 1] as number) < (heap[child] as number)) child++;
    if ((heap[child] as number) >= item) break;
    heap[index] = heap[child] as number;
    index = child;
  }
  heap[index] = item;
  return least;
}
