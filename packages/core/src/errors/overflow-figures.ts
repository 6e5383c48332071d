import { modelErrorFacts } from './classify-model-error.js';
import { ContextOverflowError } from './model-error.js';

/** The sizes that a provider reported for a request that does not fit, in the provider's tokens. */
export interface OverflowFigures {
  /** Tokens of the request, without the output. */
  readonly inputTokens?: number | undefined;
  /** Maximum number of input tokens: the context window minus the requested output. */
  readonly contextWindow?: number | undefined;
}

const NUMBER = String.raw`(\d{1,3}(?:[,_']\d{3})+|\d+)(k\b)?`;
const NUMBERS = new RegExp(NUMBER, 'gi');
/** Matches a limit with the text before it, clearest text first. */
const LIMITS = [
  new RegExp(String.raw`(?:>|<=|\[\d+,)\s*${NUMBER}`, 'gi'),
  new RegExp(
    String.raw`(?:max(?:imum)?|limit|context (?:length|window|size)|n_ctx|supports|exceeds?|less than|must be)[^\d]{0,60}?${NUMBER}`,
    'gi',
  ),
];
/** Matches texts about other units than tokens. */
const OTHER_UNITS = /\b(?:bytes?|characters?|[kmg]i?b)\b/i;
/** The smallest plausible context window, in tokens. A smaller number has another meaning. */
const SMALLEST_WINDOW = 512;

/**
 * Reads the two numbers of an overflow: from the fields of a `ContextOverflowError`, or else from the provider's messages. A number that is
 * not found is `undefined`.
 */
export function overflowFigures(error: unknown): OverflowFigures {
  const own = ContextOverflowError.isInstance(error) ? error : undefined;
  if (own?.inputTokens !== undefined) {
    return { inputTokens: own.inputTokens, contextWindow: own.contextWindow };
  }
  const told = modelErrorFacts(error).texts.map(figuresIn);
  const found =
    told.find(({ inputTokens }) => inputTokens !== undefined) ?? told.find((each) => each.contextWindow);
  return found ?? { contextWindow: own?.contextWindow };
}

function figuresIn(text: string): OverflowFigures {
  if (OTHER_UNITS.test(text)) return {};
  const numbers = [...text.matchAll(NUMBERS)].map(numberOf).filter((value) => value > 0);
  const limits = LIMITS.flatMap((pattern) => [...text.matchAll(pattern)])
    .map(numberOf)
    .filter((value) => value >= SMALLEST_WINDOW);
  const large = [...new Set(numbers.filter((value) => value >= SMALLEST_WINDOW))];
  const window = limits[0] ?? (large.length === 2 ? Math.min(...large) : undefined);
  if (window === undefined) return {};
  const others = numbers.filter((value) => value !== window);
  // The message gives the request and its output, which together are too large: `199000 + 20000 > 200000`, `40 (38 in …, 2 in …)`.
  for (const [at, input] of others.entries()) {
    const answer = others[at + 1] ?? 0;
    const sum = input + answer;
    const isSum = others.includes(sum) || others.includes(window - answer) || /\+| - \d/.test(text);
    if (answer > 0 && answer < window && input >= answer && isSum && sum > window) {
      return { inputTokens: input, contextWindow: window - answer };
    }
  }
  const inputTokens = Math.max(0, ...others.filter((value) => value > window));
  return { contextWindow: window, ...(inputTokens > 0 ? { inputTokens } : {}) };
}

function numberOf([, digits = '', thousands]: RegExpMatchArray): number {
  const value = Number(digits.replaceAll(/\D/g, ''));
  return thousands === undefined ? value : value * 1_000;
}
