const UNSEEN =
  /(?!\r?\n|\t|\u200C|\u200D|\uFE0F)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/**
 * Escapes invisible characters and those that change the direction of text. They could make a command look like another
 * one, and control characters could overwrite the terminal. Keeps line breaks, tabs, and the joiners of scripts and
 * emoji.
 */
export function printable(text: string): string {
  return text.replaceAll(UNSEEN, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}

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
