import type { Checked } from '../ask-model.js';
import { bulletText } from '../bullets.js';

/** What a model answers when nothing is worth remembering. */
export const NO_REPLY = 'NO_REPLY';

/** Bullets of one answer, and UTF-16 units of one bullet. */
export const MAX_BULLETS = 20;
export const MAX_BULLET_CHARS = 500;

/** What is worth remembering of some messages. */
export interface Statement {
  readonly text: string;
  /** The index of the message that says it; `undefined` when it is not known. */
  readonly message?: number | undefined;
}

/** The bullets of an answer, without their signs; none for `NO_REPLY`. Anything else in it has it refused as a whole. */
export function parseBullets(answer: string): Checked<readonly Statement[]> {
  if (answer === NO_REPLY) return { value: [] };
  if (answer === '') return { refused: `it is empty; say ${NO_REPLY} when there is nothing to remember` };
  const bullets: Statement[] = [];
  for (const line of answer.split(/\r\n|\n|\r|\u2028|\u2029/)) {
    if (line.trim() === '') continue;
    const text = bulletText(line);
    if (text === undefined) return { refused: 'it has lines that are no "- " bullets' };
    if (text === NO_REPLY) return { refused: `it mixes ${NO_REPLY} with bullets` };
    if (text.length > MAX_BULLET_CHARS) {
      return { refused: `a bullet is longer than ${MAX_BULLET_CHARS} characters` };
    }
    const source = /\s*\[#(\d+)(?:[^\]]*)\]\s*$/.exec(text);
    bullets.push({
      text: plainLine(source === null ? text : text.slice(0, source.index)),
      ...(source === null ? {} : { message: Number(source[1]) - 1 }),
    });
  }
  if (bullets.length > MAX_BULLETS) return { refused: `it has more than ${MAX_BULLETS} bullets` };
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
