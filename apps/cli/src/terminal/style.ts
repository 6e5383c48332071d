import { styleText } from 'node:util';

type Format = Parameters<typeof styleText>[0];

/** Text in colors, or as it is. */
export type Style = (format: Format, text: string) => string;

/** Colors where someone looks: on a terminal, unless NO_COLOR says otherwise. FORCE_COLOR asks for them anyway. */
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
