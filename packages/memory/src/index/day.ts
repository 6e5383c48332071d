const DAY_MS = 86_400_000;

/** Days since 1970, in UTC, of a date or time in ISO 8601; `undefined` when it is none. */
export function dayOf(text: string): number | undefined {
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : Math.floor(time / DAY_MS);
}

/** The date of a day, `2026-01-31`. */
export function dateOf(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

/** The day that a file is named after, as `memory/2026-01-31.md` is. */
export function dayOfPath(path: string): number | undefined {
  const name = /(?:^|\/)(\d{4}-\d\d-\d\d)[^/]*$/.exec(path)?.[1];
  return name === undefined ? undefined : dayOf(name);
}
