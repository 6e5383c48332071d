/** A name that may be needed again: what a summary must not paraphrase. */
export interface Mention {
  readonly token: string;
  readonly kind: 'path' | 'identifier' | 'id';
}

/** Text beyond this is scanned at its head and tail only: logs of many megabytes say little in their middle. */
const SCANNED = 200_000;
const LONGEST = 200;
const MOST = 1_000;

const CANDIDATE = /[\p{L}\p{N}_#@~./$:%+-]{3,}/gu;
const EDGES = /^[.:,+%-]+|[.:,+%/$-]+$/g;
const EXTENSION = /^[\p{L}\p{N}_@.+-]+\.[A-Za-z][A-Za-z0-9]{0,5}$/u;
const HUMPS = /[\p{Ll}\p{N}]\p{Lu}|\p{Lu}{2,}\p{Ll}/u;
const ESCAPE = /\\(?:u[0-9a-fA-F]{4}|[nrtbf"\\])/g;
const GENERIC = new Set(['/dev/null', 'and/or', 'e.g', 'i.e', 'n/a', 'http://', 'https://']);
const PLAIN_WORD = /^[A-Z]?[a-z]+$/;
const HEX = /^[0-9a-f]{7,40}$/;

/** The distinct names in a text, in the order in which they appear. */
export function mentionsIn(text: string): readonly Mention[] {
  const scanned = text.length > SCANNED ? `${text.slice(0, SCANNED / 2)} ${text.slice(-SCANNED / 2)}` : text;
  const found = new Map<string, Mention>();
  // JSON inside text: what is left of an escape would stick to the word behind it.
  const unescaped = scanned.includes('\\') ? scanned.replaceAll(ESCAPE, ' ') : scanned;
  for (const [candidate] of unescaped.matchAll(CANDIDATE)) {
    // Most candidates by far, dismissed at the least cost.
    if (PLAIN_WORD.test(candidate)) continue;
    const token = candidate.replace(EDGES, '');
    if (token.length < 3 || token.length > LONGEST || found.has(token) || GENERIC.has(token)) continue;
    const kind = kindOf(token);
    if (kind) found.set(token, { token, kind });
    if (found.size === MOST) break;
  }
  return [...found.values()];
}

function kindOf(token: string): Mention['kind'] | undefined {
  if (!/\p{L}|\p{N}/u.test(token)) return undefined;
  if (token.includes('/')) return isPath(token) ? 'path' : undefined;
  if (/^\d+([.:,-]\d+)*$/.test(token)) return /^\d{5,}$/.test(token) ? 'id' : undefined;
  if (token.startsWith('#') && token.length > 3) return 'id';
  if (HEX.test(token) && /\d/.test(token)) return 'id';
  if (EXTENSION.test(token) && !/^\d/.test(token)) return 'path';
  if (/[\p{L}\p{N}]_[\p{L}\p{N}]/u.test(token) || /^_+\p{L}/u.test(token)) return 'identifier';
  if (HUMPS.test(token) && /\p{Ll}/u.test(token)) return 'identifier';
  if (/\p{L}/u.test(token) && /\p{N}/u.test(token) && token.length >= 4) return 'id';
  return /^\p{L}+-\p{N}+$/u.test(token) ? 'id' : undefined;
}

function isPath(token: string): boolean {
  const segments = token.split('/').filter(Boolean);
  return segments.length >= 2 && segments.some((segment) => /\p{L}/u.test(segment));
}
