import { printable } from '@x/core/internal';

export { printable };

/** Escapes a text like {@link printable} and replaces line breaks and tabs with spaces, for a name in a list. */
export function oneLine(text: string): string {
  return printable(text.replaceAll(/[\r\n\t]/g, ' '));
}

/** Formats a rounded number: 12 412 becomes `12.4k`, 1 000 000 becomes `1M`. */
export function shortNumber(value: number): string {
  if (value < 0) return `-${shortNumber(-value)}`;
  if (value < 1_000) return String(Math.round(value));
  const [size, unit] = value < 999_500 ? [value / 1_000, 'k'] : [value / 1_000_000, 'M'];
  return `${size < 99.95 ? size.toFixed(1).replace(/\.0$/, '') : Math.round(size)}${unit}`;
}
