import type { Checked } from '../ask-model.js';
import { bulletText } from '../bullets.js';

/** What a model answers when nothing is worth remembering. */
export const NO_REPLY = 'NO_REPLY';

export interface BulletLimits {
  readonly maxBullets: number;
  readonly maxBulletChars: number;
}

/** The bullets of an answer, without their signs; none for `NO_REPLY`. Anything else in it has it refused as a whole. */
export function parseBullets(
  answer: string,
  { maxBullets, maxBulletChars }: BulletLimits,
): Checked<readonly string[]> {
  if (answer === NO_REPLY) return { value: [] };
  if (answer === '') return { refused: `it is empty; say ${NO_REPLY} when there is nothing to remember` };
  const bullets: string[] = [];
  for (const line of answer.split(/\r\n|\n|\r|\u2028|\u2029/)) {
    if (line.trim() === '') continue;
    const text = bulletText(line);
    if (text === undefined) return { refused: 'it has lines that are no "- " bullets' };
    if (text === NO_REPLY) return { refused: `it mixes ${NO_REPLY} with bullets` };
    if (text.length > maxBulletChars)
      return { refused: `a bullet is longer than ${maxBulletChars} characters` };
    bullets.push(plainLine(text));
  }
  if (bullets.length > maxBullets) return { refused: `it has more than ${maxBullets} bullets` };
  return { value: bullets };
}

/** One line without control characters, in which nothing looks like one of the marks in a note. */
export function plainLine(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\p{Cc}/gu, '')
    .replaceAll('<!--', '‹!--')
    .trim();
}
