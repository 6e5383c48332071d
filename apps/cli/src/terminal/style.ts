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
 * Removes control characters from a text of a model or a tool: with them it could write over the screen, ask the terminal
 * for things or hide its doings. What is not seen or turns the line round is spelled out. Line breaks and tabs stay.
 */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, '').replaceAll(UNSEEN, codePoint);
}

/** What turns a line round or is not seen, so that another command seems to stand there; joiners of scripts and emoji stay. */
const UNSEEN = /[\u00AD\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\u{E0000}-\u{E007F}]/gu;

const codePoint = (char: string) => `\\u{${char.codePointAt(0)?.toString(16)}}`;

/** The same in one line: for names that stand in a list. */
export function oneLine(text: string): string {
  return printable(text.replaceAll(/[\r\n\t]/g, ' '));
}
