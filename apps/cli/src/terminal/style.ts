import { styleText } from 'node:util';

type Format = Parameters<typeof styleText>[0];

/** Text in colors, or as it is. */
export type Style = (format: Format, text: string) => string;

/** Colors where somebody looks: on a terminal, unless NO_COLOR says otherwise. FORCE_COLOR asks for them anyway. */
export function styleFor(
  output: { readonly isTTY?: boolean | undefined },
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Style {
  const forced = environment.FORCE_COLOR !== undefined && environment.FORCE_COLOR !== '0';
  const wanted = forced || (output.isTTY === true && !environment.NO_COLOR && environment.TERM !== 'dumb');
  return wanted
    ? (format, text) => styleText(format, text, { validateStream: false })
    : (_format, text) => text;
}

/**
 * Spells out what a text of a model or a tool has that is not seen, or turns the line round: with it another command would
 * seem to stand there, and with control characters it could write over the screen or ask the terminal for things. Line breaks
 * and tabs stay, and the joiners of scripts and emoji.
 */
export function printable(text: string): string {
  return text.replaceAll(UNSEEN, codePoint);
}

const UNSEEN =
  /(?!\r?\n|\t|\u200C|\u200D|\uFE0F)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

const codePoint = (char: string) => `\\u{${char.codePointAt(0)?.toString(16)}}`;

/** The same in one line: for names that stand in a list. */
export function oneLine(text: string): string {
  return printable(text.replaceAll(/[\r\n\t]/g, ' '));
}
