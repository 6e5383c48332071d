import { Tiktoken } from 'js-tiktoken/lite';
import cl100kBase from 'js-tiktoken/ranks/cl100k_base';
import o200kBase from 'js-tiktoken/ranks/o200k_base';
import { parseRanks, RankTable } from '../../src/tiktoken/rank-table.js';

export const encodings = ['o200k_base', 'cl100k_base'] as const;
export type EncodingName = (typeof encodings)[number];

/** The characters of `\\s` in Rust, in which tiktoken is written; JavaScript has U+FEFF and lacks U+0085. */
const SPACE = String.raw`\t-\r\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000`;

/** js-tiktoken's data, from which both its encoder and ours are made, with tiktoken's own idea of a space. */
export const rankData = { o200k_base: withSpace(o200kBase), cl100k_base: withSpace(cl100kBase) };

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

const tiktokens = new Map<EncodingName, Tiktoken>();

/** What js-tiktoken counts, with special tokens taken as ordinary text. */
export function referenceCount(encoding: EncodingName, text: string): number {
  let tiktoken = tiktokens.get(encoding);
  if (tiktoken === undefined) {
    tiktoken = new Tiktoken(rankData[encoding]);
    tiktokens.set(encoding, tiktoken);
  }
  return tiktoken.encode(text, [], []).length;
}

const tables = new Map<EncodingName, RankTable>();

export function tableOf(encoding: EncodingName): RankTable {
  let table = tables.get(encoding);
  if (table === undefined) {
    table = new RankTable(parseRanks(rankData[encoding].bpe_ranks));
    tables.set(encoding, table);
  }
  return table;
}
