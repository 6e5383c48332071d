import type { Usage } from '@x/core';
import type { Prices } from '@x/replay';

const THIN = '\u202f';

/** Rounds a number: 12 412 → `12.4k`. */
export { shortNumber as shortCount } from '@x/harness/view';

// One formatter for all numbers, because making one takes longer than a thousand uses.
const exact = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** Formats an exact number: 12412 → `12,412`. */
export function exactCount(count: number): string {
  return exact.format(count);
}

/** Formats a share: 0.637 → `64 %`. */
export function share(part: number, whole: number): string {
  if (part < 0) return `-${share(-part, whole)}`;
  if (whole <= 0 || part === 0) return `0${THIN}%`;
  const percent = (part / whole) * 100;
  if (percent < 1) return `<1${THIN}%`;
  return `${Math.round(percent)}${THIN}%`;
}

export function duration(milliseconds: number): string {
  if (milliseconds < 1) return `<1${THIN}ms`;
  if (milliseconds < 1_000) return `${Math.round(milliseconds)}${THIN}ms`;
  if (milliseconds < 60_000) return `${trim(milliseconds / 1_000)}${THIN}s`;
  const minutes = Math.floor(milliseconds / 60_000);
  return `${minutes}${THIN}min ${Math.round((milliseconds % 60_000) / 1_000)}${THIN}s`;
}

/** Formats a number of characters or bytes: 12 412 → `12.4 KB`. */
export function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes}${THIN}B`;
  if (bytes < 1_000_000) return `${trim(bytes / 1_000)}${THIN}KB`;
  return `${trim(bytes / 1_000_000)}${THIN}MB`;
}

/** Formats an amount of US dollars. */
export function money(amount: number): string {
  const maximumFractionDigits = amount >= 1 ? 2 : 4;
  return amount.toLocaleString('en-US', { style: 'currency', currency: 'USD', maximumFractionDigits });
}

export function plural(count: number, noun: string): string {
  return `${exactCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** Formats a time: `14:05` today, otherwise `12 Nov`. */
export function whenOf(iso: string): string {
  const [date, now] = [new Date(iso), new Date()];
  if (date.toDateString() === now.toDateString())
    return date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  return date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
}

/** Formats a number with one decimal below a hundred, without `.0`. */
function trim(value: number): string {
  return value < 99.95 ? value.toFixed(1).replace(/\.0$/, '') : String(Math.round(value));
}

/** Returns the cost of tokens in US dollars. */
export function costOf(usage: Usage, prices: Prices): number {
  const { inputTokens, outputTokens, cachedInputTokens: cached = 0, cacheWriteTokens: written = 0 } = usage;
  const input = (inputTokens - cached - written) * prices.input;
  const cache = cached * prices.cachedInput + written * prices.cacheWrite;
  return (input + cache + outputTokens * prices.output) / 1_000_000;
}
