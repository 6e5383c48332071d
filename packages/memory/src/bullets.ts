import { createHash } from 'node:crypto';
import { withoutMark } from './note-line.js';

const BULLET = /^[-*+•]\s+(\S.*)$/u;
/** How notes that were taken without a model begin. */
const LABEL = /^(?:preference|decision|fact) \(as stated\): /i;

/** A bullet of a Markdown file, with the lines that continue it. */
export interface Bullet {
  readonly text: string;
  readonly key: string;
  /** Its first line, and the one behind its last, from 0. */
  readonly start: number;
  readonly end: number;
}

/** The text of a bullet, or `undefined` for any other line. */
export function bulletText(line: string): string | undefined {
  return BULLET.exec(withoutMark(line).trim())?.[1];
}

/** What two texts have in common when they say the same but for case, spaces, emphasis and the full stop. */
export function factKey(text: string): string {
  return withoutMark(text)
    .replace(LABEL, '')
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[*_`]+/g, '')
    .replaceAll(/\s+/g, ' ')
    .replace(/[.!。！\s]+$/u, '')
    .trim();
}

/** A short name of a fact's key, from which the fact cannot be had back. */
export function keyHash(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, 16);
}

/** The bullets of a text, each with the lines that continue it. */
export function bulletsOf(text: string): Bullet[] {
  const bullets: { text: string; start: number; end: number }[] = [];
  let open = false;
  for (const [number, line] of text.split('\n').entries()) {
    const bullet = bulletText(line);
    const last = bullets.at(-1);
    const isMore: boolean = bullet === undefined && open && /^\s+\S/.test(line);
    if (bullet !== undefined) bullets.push({ text: bullet, start: number, end: number + 1 });
    else if (isMore && last !== undefined) {
      last.text += ` ${line.trim()}`;
      last.end = number + 1;
    }
    open = bullet !== undefined || isMore;
  }
  return bullets.map((bullet) => ({ ...bullet, key: factKey(bullet.text) }));
}

/** The keys of all bullets in some texts. */
export function factKeys(...texts: readonly string[]): Set<string> {
  return new Set(texts.flatMap((text) => bulletsOf(text).map(({ key }) => key)));
}
