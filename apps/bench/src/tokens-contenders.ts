import { createRequire } from 'node:module';
import { type TiktokenEncoding, tiktokenCounter } from '@x/compaction/tiktoken';

/** Who counts: this repository and the two common tokenizers written in JavaScript. */
export const contenders = ['@x/compaction', 'gpt-tokenizer', 'js-tiktoken'] as const;
export type Contender = (typeof contenders)[number];
export type Peer = Exclude<Contender, '@x/compaction'>;

export type Count = (text: string) => number;
export type PerContender<Value = number> = Readonly<Record<Contender, Value>>;

export function perContender<Value>(create: (contender: Contender) => Value): Record<Contender, Value> {
  return {
    '@x/compaction': create('@x/compaction'),
    'gpt-tokenizer': create('gpt-tokenizer'),
    'js-tiktoken': create('js-tiktoken'),
  };
}

const require = createRequire(import.meta.url);

// Required rather than imported, as @x/compaction does with its data, and because only that is synchronous.
const loadGptTokenizer: Readonly<Record<TiktokenEncoding, () => { countTokens: Count }>> = {
  o200k_base: () => require('gpt-tokenizer/encoding/o200k_base'),
  cl100k_base: () => require('gpt-tokenizer/encoding/cl100k_base'),
};

/**
 * A function that makes a contender ready to count with one encoding. The contender's code is imported before it is
 * returned, so that calling it takes the time of loading the encoding; of gpt-tokenizer, which has no part without an
 * encoding, the little code there is comes with it.
 */
export async function prepare(contender: Contender, encoding: TiktokenEncoding): Promise<() => Count> {
  switch (contender) {
    case '@x/compaction':
      return () => {
        const counter = tiktokenCounter(encoding);
        counter.load();
        return counter.count;
      };
    case 'gpt-tokenizer':
      return () => loadGptTokenizer[encoding]().countTokens;
    case 'js-tiktoken': {
      const { Tiktoken } = await import('js-tiktoken/lite');
      return () => {
        const tokenizer = new Tiktoken(require(`js-tiktoken/ranks/${encoding}`));
        return (text) => tokenizer.encode(text, [], []).length;
      };
    }
  }
}
