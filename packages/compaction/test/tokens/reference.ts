import { Tiktoken } from 'js-tiktoken/lite';
import cl100kBase from 'js-tiktoken/ranks/cl100k_base';
import o200kBase from 'js-tiktoken/ranks/o200k_base';
import { parseRanks, RankTable } from '../../src/tokens/rank-table.js';

export const encodings = ['o200k_base', 'cl100k_base'] as const;
export type EncodingName = (typeof encodings)[number];

/** js-tiktoken's data, from which both its encoder and ours are made. */
export const rankData = { o200k_base: o200kBase, cl100k_base: cl100kBase };

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
