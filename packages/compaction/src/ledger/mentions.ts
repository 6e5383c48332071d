import { KnownNames } from './known-names.js';
import { ChunkReader, SIGNS } from './name-chunks.js';

/** A name that may be needed again: what a summary must not paraphrase. */
export interface Mention {
  readonly token: string;
  readonly kind: 'path' | 'identifier' | 'id';
}

/** Text beyond this is scanned at its head and tail only: logs of many megabytes say little in their middle. */
const SCANNED = 200_000;
const LONGEST = 200;
/** Names in one text: a dump of data has many, and few of them matter. */
const MOST = 1_000;

/** Signs without which a stretch of text holds no name, and those of numbers. */
const NAMING =
  SIGNS.slash | SIGNS.dot | SIGNS.digit | SIGNS.underscore | SIGNS.innerUpper | SIGNS.foreign | SIGNS.url;
const NUMERIC = SIGNS.digit | SIGNS.dot;
const SHORTEST_NUMBER = 5;

const GENERIC = new Set(['/dev/null', 'and/or', 'e.g', 'i.e', 'n/a']);
const ESCAPE = /\\(?:u[0-9a-fA-F]{4}|[nrtbf"\\])/g;
/** A leading dot is part of the name: `.github/x`, `./x`, `../x`. */
const PATH = /^(?:~|\.{1,2})?(?:[\p{L}\p{N}_@+-][\p{L}\p{N}_@.+~%-]*)?(?:\/+[\p{L}\p{N}_@.+~%-]+)+/u;
const FILE = /^[\p{L}_@][\p{L}\p{N}_@.+-]*\.(?:[a-z]{1,5}\d?|[A-Z]+)$/u;
const WORD = /[\p{L}_$][\p{L}\p{N}_$]{3,}/gu;
const ID = /#?[\p{L}\p{N}]+(?:[-_][\p{L}\p{N}]+)*/gu;
const HUMPS = /[\p{Ll}\p{N}]\p{Lu}|\p{Lu}{2}\p{Ll}/u;
const UNDERSCORE = /[\p{L}\p{N}]_[\p{L}\p{N}]|^_+\p{L}/u;
/** Times and quantities: `1m42s`, `250ms`, `180p`, `T0642Z`. */
const QUANTITY = /^T?(?:\d+[a-zµ]{1,2}){1,3}$|^T?\d+Z$/i;
const HEX = /^[0-9a-f]{7,64}$/;

const reader = new ChunkReader();
const known = new KnownNames();

/** The distinct names in a text, in the order in which they appear. */
export function mentionsIn(text: string): readonly Mention[] {
  const scanned = text.length > SCANNED ? `${text.slice(0, SCANNED / 2)} ${text.slice(-SCANNED / 2)}` : text;
  // JSON inside text: what is left of an escape would stick to the word behind it.
  reader.open(scanned.includes('\\') ? scanned.replaceAll(ESCAPE, ' ') : scanned);
  known.begin();
  const found: Mention[] = [];
  while (found.length < MOST && reader.next()) {
    if (mayHoldNames(reader)) known.collect(reader, found, namesIn);
  }
  return found;
}

/** Words with a hyphen and short numbers hold none, and are many. */
function mayHoldNames({ signs, start, end }: ChunkReader): boolean {
  if ((signs & NAMING) === 0) return false;
  return (signs & ~NUMERIC) !== 0 || end - start >= SHORTEST_NUMBER;
}

/** The names in the stretch that a reader is at. */
function namesIn(reader: ChunkReader): readonly Mention[] {
  const names: Mention[] = [];
  addMentions(reader.chunk(), reader.signs, (token, kind) => {
    if (token.length > LONGEST || GENERIC.has(token)) return;
    if (!names.some((name) => name.token === token)) names.push({ token, kind });
  });
  return names;
}

/** A path and what its parts are called: a later call may use either. */
function addMentions(
  chunk: string,
  signs: number,
  add: (token: string, kind: Mention['kind']) => void,
): void {
  if (signs & SIGNS.url) {
    add(chunk.replace(/[.:,?&=/]+$/, ''), 'path');
    return;
  }
  let last = chunk;
  if (signs & SIGNS.slash) {
    const path = PATH.exec(chunk)?.[0].replace(/[./]+$/, '') ?? '';
    if (path.length >= 4 && /\p{L}/u.test(path) && path.split('/').filter(Boolean).length >= 2) {
      // What is left of a URL whose scheme stood apart.
      add(path.replace(/^\/\//, ''), 'path');
    }
    last = chunk.slice(chunk.lastIndexOf('/') + 1);
  }
  if (signs & SIGNS.dot) {
    const file = last.replace(/^[.:,+%-]+|[.,+%$-]+$/g, '');
    if (file.includes('.') && FILE.test(file)) add(file, 'path');
  }
  if (signs & (SIGNS.innerUpper | SIGNS.underscore | SIGNS.foreign)) {
    for (const word of chunk.match(WORD) ?? []) {
      if ((HUMPS.test(word) || UNDERSCORE.test(word)) && !QUANTITY.test(word)) add(word, 'identifier');
    }
  }
  if ((signs & SIGNS.digit) === 0 || !/\p{N}/u.test(last)) return;
  for (const id of last.match(ID) ?? []) if (isId(id)) add(id, 'id');
}

function isId(token: string): boolean {
  if (token.length < 4 || !/\p{N}/u.test(token)) return false;
  if (/^\d+$/.test(token)) return token.length >= SHORTEST_NUMBER;
  if (HEX.test(token) || token.startsWith('#')) return true;
  if (QUANTITY.test(token)) return false;
  return /\p{L}/u.test(token) && (token.includes('-') || token.length <= 24);
}
