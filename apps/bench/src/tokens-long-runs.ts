import { seededRandom } from './corpus.js';
import { median } from './statistics.js';
import type { Count } from './tokens-contenders.js';

export interface TokenLongRun {
  readonly family: string;
  /** Median time for 20,000 and for 200,000 UTF-16 units. */
  readonly milliseconds: { readonly short: number; readonly long: number };
  /** Time for the long one over that for the short one: linear is 10, quadratic 100. */
  readonly growth: number;
}

export const LONG_RUN_ROUNDS = 7;
const SHORT = 20_000;
const LONG = 200_000;

/** Both lengths in turns, and the short one ten times, so that both take equally long and a disturbance hits both. */
export function measureLongRuns(count: Count): TokenLongRun[] {
  return Object.entries(longRuns).map(([family, textOf]) => {
    const [shortText, longText] = [textOf(SHORT), textOf(LONG)];
    const times = { short: [] as number[], long: [] as number[] };
    count(shortText);
    for (let round = 0; round < LONG_RUN_ROUNDS; round++) {
      times.short.push(timeOf(() => count(shortText), LONG / SHORT));
      times.long.push(timeOf(() => count(longText), 1));
    }
    const milliseconds = { short: median(times.short), long: median(times.long) };
    return { family, milliseconds, growth: milliseconds.long / milliseconds.short };
  });
}

/** Texts of a given length that split into one piece or into few: the worst that a tokenizer can be given. */
const longRuns: Readonly<Record<string, (length: number) => string>> = {
  'one letter': (length) => 'a'.repeat(length),
  spaces: (length) => ' '.repeat(length),
  newlines: (length) => '\n'.repeat(length),
  'ruler of =': (length) => '='.repeat(length),
  'random a–z': (length) => randomText(length, (random) => 97 + random() * 26),
  Chinese: (length) => randomText(length, (random) => 0x4e00 + random() ** 3 * 8_000),
  emoji: (length) => randomText(length / 2, (random) => 0x1f600 + random() * 80),
  'combining marks': (length) => randomText(length, (random) => 0x300 + random() * 100),
  'punctuation soup': (length) => randomText(length, (random) => 33 + random() * 15),
};

function randomText(characters: number, codePointOf: (random: () => number) => number): string {
  const random = seededRandom(7);
  return Array.from({ length: characters }, () => String.fromCodePoint(Math.floor(codePointOf(random)))).join(
    '',
  );
}

function timeOf(work: () => void, times: number): number {
  const started = performance.now();
  for (let time = 0; time < times; time++) work();
  return (performance.now() - started) / times;
}
