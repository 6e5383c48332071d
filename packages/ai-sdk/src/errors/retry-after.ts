/**
 * What `retry-after-ms` or `retry-after` (seconds, or a date) ask for, in milliseconds.
 *
 * @param now Milliseconds since the epoch, for dates.
 */
export function retryAfterMs(
  headers: { readonly [name: string]: string },
  now: number = Date.now(),
): number | undefined {
  const milliseconds = number(headers['retry-after-ms']);
  if (milliseconds !== undefined) return milliseconds;
  const value = headers['retry-after'];
  const seconds = number(value);
  if (seconds !== undefined) return seconds * 1_000;
  const date = Date.parse(value ?? '');
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function number(text: string | undefined): number | undefined {
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) && value >= 0 ? value : undefined;
}
