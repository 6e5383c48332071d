import { styleText } from 'node:util';

type Format = Parameters<typeof styleText>[0];

/** Formats text with colors, or returns it unchanged. */
export type Style = (format: Format, text: string) => string;

/** Returns text unchanged. */
export const PLAIN: Style = (_format, text) => text;

/** Returns colors for a terminal, unless NO_COLOR is set. FORCE_COLOR enables them in any case. */
export function styleFor(
  output: { readonly isTTY?: boolean | undefined },
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Style {
  const forced = environment.FORCE_COLOR !== undefined && environment.FORCE_COLOR !== '0';
  const wanted = forced || (output.isTTY === true && !environment.NO_COLOR && environment.TERM !== 'dumb');
  return wanted ? (format, text) => styleText(format, text, { validateStream: false }) : PLAIN;
}
