const DAY_MS = 86_400_000;

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const MONTH =
  '(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)';
/** The name of a month alone may be a verb or a person's name. It counts only after one of these words. */
const BEFORE_MONTH = '(?:in|since|during|last|this|next|of|early|late)';
const DAY = String.raw`(\d{1,2})(?:st|nd|rd|th)?`;
const YEAR = String.raw`(?:,?\s+(\d{4}))?`;

/** Date formats, and the group numbers of year, month and day; 0 if the format lacks that part. */
const FORMS: readonly (readonly [pattern: RegExp, year: number, month: number, day: number])[] = [
  [/\b(\d{4})-(\d{1,2})-(\d{1,2})\b/g, 1, 2, 3],
  [new RegExp(String.raw`\b${MONTH}\.?\s+(?:the\s+)?${DAY}\b${YEAR}`, 'gi'), 3, 1, 2],
  [new RegExp(String.raw`\b${DAY}\s+(?:of\s+)?${MONTH}\b\.?${YEAR}`, 'gi'), 3, 2, 1],
  [new RegExp(String.raw`\b${BEFORE_MONTH}\s+${MONTH}\b${YEAR}(?!\s+\d)`, 'gi'), 2, 1, 0],
  [/(?:(\d{4})\s{0,9}年\s{0,9})?(?<!\d)(\d{1,2})\s{0,9}月(?:\s{0,9}(\d{1,2})\s{0,9}[日號号])?/g, 1, 2, 3],
];

/** Returns the days since 1970 (UTC) of an ISO 8601 date or time, and `undefined` for other text. */
export function dayOf(text: string): number | undefined {
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : Math.floor(time / DAY_MS);
}

/** Returns the date of a time (milliseconds since 1970) in an IANA time zone. */
export function dayIn(time: number, timeZone: string): string {
  // The Swedish date format is that of ISO 8601.
  const format = { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' } as const;
  return new Intl.DateTimeFormat('sv-SE', format).format(time);
}

/** Returns the date of a day, `2026-01-31`. */
export function dateOf(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

/** Returns the day in a file's name, such as `memory/2026-01-31.md`. */
export function dayOfPath(path: string): number | undefined {
  const name = /(?:^|\/)(\d{4}-\d\d-\d\d)[^/]*$/.exec(path)?.[1];
  return name === undefined ? undefined : dayOf(name);
}

/** Returns the search terms of a line of that day: the whole date, and its parts. */
export function dateTermsOf(day: number | null): readonly string[] {
  if (day === null) return [];
  const [year = '', month = '', date = ''] = dateOf(day).split('-');
  return [`_d${year}${month}${date}`, `_d${year}${month}`, `_d_${month}${date}`, `_d_${month}`];
}

/** Returns the search terms for the dates in a query, each as precise as the query. */
export function datesIn(query: string): readonly string[] {
  const terms = new Set<string>();
  for (const [pattern, yearAt, monthAt, dayAt] of FORMS) {
    for (const found of query.matchAll(pattern)) {
      const year = found[yearAt] ?? '_';
      const word = found[monthAt] ?? '';
      const month = /^\d/.test(word) ? Number(word) : MONTHS.indexOf(word.slice(0, 3).toLowerCase()) + 1;
      const day = dayAt === 0 ? undefined : found[dayAt];
      if (month < 1 || month > 12 || Number(day ?? 1) < 1 || Number(day ?? 1) > 31) continue;
      terms.add(`_d${year}${String(month).padStart(2, '0')}${day?.padStart(2, '0') ?? ''}`);
    }
  }
  return [...terms];
}
