import { createRequire } from 'node:module';
import type { TokenCounter } from '@x/core';
import { countMerged, type Ranks } from './merge.js';

/** Counts tokens exactly as OpenAI's tiktoken does. */
export interface TiktokenCounter extends TokenCounter {
  readonly name: 'o200k_base';
  /** Loads the encoding's data now instead of at the first `count`. Takes about 200 ms and 25 MB, once per process. */
  load(): void;
}

let encoder: TokenCounter['count'] | undefined;

const counter: TiktokenCounter = Object.freeze({
  name: 'o200k_base',
  count: (text: string) => (encoder ?? loadEncoder())(text),
  load: () => void (encoder ?? loadEncoder()),
});

/**
 * Returns the exact counter for `o200k_base`, the encoding of OpenAI's models since GPT-4o. Always returns the same object, so that callers
 * share cached counts of messages.
 *
 * The names of special tokens, such as `<|endoftext|>`, are counted as ordinary text. A file or a tool's output may contain them, and
 * providers do not treat them as control tokens in messages either.
 *
 * Counting takes O(n log n) for any text. The encoding's data comes from js-tiktoken and is loaded at the first count.
 *
 * @example
 * ```ts
 * const compactor = createCompactor({ contextWindow: 400_000, counter: tiktokenCounter() });
 * ```
 */
export function tiktokenCounter(): TiktokenCounter {
  return counter;
}

function loadEncoder(): TokenCounter['count'] {
  const require = createRequire(import.meta.url);
  const data = require('js-tiktoken/ranks/o200k_base') as { bpe_ranks: string; pat_str: string };
  encoder = encoderOf(ranksIn(data.bpe_ranks), patternOf(data.pat_str));
  return encoder;
}

/** Reads the published ranks: in each line a name, the first rank, and the tokens from that rank on in base64. */
export function ranksIn(published: string): Ranks {
  const ranks = new Map<string, number>();
  for (const line of published.split('\n')) {
    const [, first, ...tokens] = line.split(' ');
    for (const [index, token] of tokens.entries())
      ranks.set(Buffer.from(token, 'base64').toString('latin1'), Number(first) + index);
  }
  return ranks;
}

/** The characters of `\s` in Rust, the language of tiktoken. JavaScript's `\s` also has U+FEFF, and lacks U+0085. */
const SPACE = String.raw`\t-\r\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000`;

/** Converts the published pattern, so that `\s` matches as in Rust. The pattern splits a text into pieces; no token spans two pieces. */
function patternOf(published: string): RegExp {
  let inClass = false;
  const pattern = published.replaceAll(/\\.|[[\]]/g, (part) => {
    if (part === '[' || part === ']') inClass = part === '[';
    if (part === String.raw`\S`) return `[^${SPACE}]`;
    if (part === String.raw`\s`) return inClass ? SPACE : `[${SPACE}]`;
    return part;
  });
  return new RegExp(pattern.replaceAll(/\((?!\?)/g, '(?:'), 'gu');
}

/** Pieces of up to this many UTF-16 units are counted once. A longer piece would keep the whole text that it is a part of in memory. */
const LONGEST_KNOWN = 12;
const MOST_KNOWN = 100_000;

function encoderOf(ranks: Ranks, pieces: RegExp): TokenCounter['count'] {
  const known = new Map<string, number>();
  return (text) => {
    let count = 0;
    for (const piece of text.match(pieces) ?? []) {
      const tokens = known.get(piece) ?? countPiece(ranks, piece);
      count += tokens;
      if (piece.length > LONGEST_KNOWN) continue;
      if (known.size >= MOST_KNOWN) known.clear();
      known.set(piece, tokens);
    }
    return count;
  };
}

/** Counts the tokens of a piece. A lone surrogate becomes U+FFFD, as in tiktoken. */
function countPiece(ranks: Ranks, piece: string): number {
  const bytes = Buffer.from(piece).toString('latin1');
  return ranks.has(bytes) ? 1 : countMerged(ranks, bytes);
}
