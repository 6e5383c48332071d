import { type CorpusKind, corpusKinds, readCorpus } from './corpus.js';
import { median } from './statistics.js';
import {
  type Contender,
  type Count,
  contenders,
  type Peer,
  type PerContender,
  perContender,
} from './tokens-contenders.js';

export interface TokenThroughput {
  readonly kind: CorpusKind;
  readonly bytes: number;
  /** What each counted in all; they should agree. */
  readonly tokens: PerContender;
  /** Median over the rounds, of UTF-8 text that nobody has counted before. */
  readonly megabytesPerSecond: PerContender;
  /** How many times faster @x/compaction is than each peer: the median of the ratios within a round. */
  readonly timesFaster: Readonly<Record<Peer, number>>;
}

export const THROUGHPUT_ROUNDS = 9;
const WARM_UP_MESSAGES = 12;

/** The contenders take turns, another one first in each round, so that what else the machine does hits all alike. */
export function measureThroughput(counts: PerContender<Count>): TokenThroughput[] {
  const corpora = corpusKinds.map((kind) => ({ kind, messages: readCorpus(kind) }));
  for (const { messages } of corpora) {
    for (const message of messages.slice(0, WARM_UP_MESSAGES)) {
      for (const contender of contenders) counts[contender](message);
    }
  }
  return corpora.map(({ kind, messages }) => measureKind(kind, messages.slice(WARM_UP_MESSAGES), counts));
}

function measureKind(kind: CorpusKind, messages: string[], counts: PerContender<Count>): TokenThroughput {
  const perRound = Math.floor(messages.length / THROUGHPUT_ROUNDS);
  const speeds = perContender((): number[] => []);
  const tokens = perContender(() => 0);
  let bytes = 0;
  for (let round = 0; round < THROUGHPUT_ROUNDS; round++) {
    const batch = messages.slice(round * perRound, (round + 1) * perRound);
    const batchBytes = batch.reduce((total, message) => total + Buffer.byteLength(message), 0);
    bytes += batchBytes;
    const first = round % contenders.length;
    for (const contender of [...contenders.slice(first), ...contenders.slice(0, first)]) {
      const count = counts[contender];
      const started = performance.now();
      for (const message of batch) tokens[contender] += count(message);
      speeds[contender].push(batchBytes / 1_000 / (performance.now() - started));
    }
  }
  const ratioTo = (peer: Contender) =>
    median(speeds['@x/compaction'].map((speed, round) => speed / (speeds[peer][round] ?? Number.NaN)));
  return {
    kind,
    bytes,
    tokens,
    megabytesPerSecond: perContender((contender) => median(speeds[contender])),
    timesFaster: { 'gpt-tokenizer': ratioTo('gpt-tokenizer'), 'js-tiktoken': ratioTo('js-tiktoken') },
  };
}
