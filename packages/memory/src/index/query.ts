import { SearchQuery, Tokenizer } from '@x/core/internal';
import { stemmer } from 'stemmer';
import { datesIn } from './dates.js';

/** Number of UTF-16 units of a query in which dates are recognized. */
const DATED = 1_000;

/** Stems English words (Porter). Other words, and short ones, stay as they are. */
export const tokenizer = new Tokenizer((word) => (/^[a-z]{3,}$/.test(word) ? stemmer(word) : word));

/** Parses any text as a query. A date in it also matches facts that were stated on that day. */
export function memoryQuery(text: string): SearchQuery {
  return new SearchQuery(text, { tokenizer, extra: datesIn(text.slice(0, DATED)) });
}
