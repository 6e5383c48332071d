import { Tiktoken } from 'js-tiktoken/lite';
import o200kBase from 'js-tiktoken/ranks/o200k_base';
import { parseRanks, RankTable } from '../../src/tiktoken/rank-table.js';

/** The characters of `\\s` in Rust, in which tiktoken is written; JavaScript has U+FEFF and lacks U+0085. */
const SPACE = String.raw`\t-\r\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000`;

/** js-tiktoken's data, from which both its encoder and ours are made, with tiktoken's own idea of a space. */
export const rankData = withSpace(o200kBase);

function withSpace(data: typeof o200kBase): typeof o200kBase {
  let inClass = false;
  const pat_str = data.pat_str.replace(/\\.|[[\]]/gu, (token) => {
    if (token === '[' || token === ']') inClass = token === '[';
    if (token === String.raw`\S`) return `[^${SPACE}]`;
    if (token !== String.raw`\s`) return token;
    return inClass ? SPACE : `[${SPACE}]`;
  });
  return { ...data, pat_str };
}

let tiktoken: Tiktoken | undefined;

/** What js-tiktoken counts, with special tokens taken as ordinary text. */
export function referenceCount(text: string): number {
  tiktoken ??= new Tiktoken(rankData);
  return tiktoken.encode(text, [], []).length;
}

export const table = new RankTable(parseRanks(rankData.bpe_ranks));
