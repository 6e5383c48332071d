import { estimateCounter, type JsonValue, type Message, type ToolUseBlock, textOf } from '@x/core';
import { atOnce, type Redact } from '@x/core/internal';
import { countedText, oddLines } from '../conversation/lines.js';
import { redactMessage } from '../conversation/redaction.js';
import { isUserRequest } from '../conversation/regions.js';
import { distilled } from '../conversation/sentences.js';
import { nameOf } from '../conversation/text.js';
import { OLD_KEY } from './calls.js';
import type { Quote } from './entry.js';
import { namesIn } from './names.js';
import { GAP, readable, resultText, within, withoutLines } from './readable.js';
import { sortedOnce, type Terms, termsOf } from './terms.js';

/** A part of a message that may enter a record. */
export interface Excerpt extends Omit<Quote, 'at'> {
  readonly terms: Terms;
  /** Estimated tokens. */
  readonly tokens: number;
  /** The weight relative to other excerpts. */
  readonly worth: number;
  /** `true` if the excerpt continues the paragraph of the previous excerpt and is unclear without it. */
  readonly leans: boolean;
  /** The id of the call that wrote the excerpt or whose result contains it. */
  readonly callId?: string | undefined;
}

/** All excerpts of one message. A record consists of a choice of excerpts. */
export interface Excerpts {
  /** The message, redacted if a redactor was given. */
  readonly message: Message;
  readonly parts: readonly Excerpt[];
  /** The distinct terms (hashed words) of the whole message. */
  readonly terms: Terms;
  /** Names in the message's texts and results: paths, names in code, ids. */
  readonly names: readonly string[];
  /** Names that the message passes to tools. */
  readonly passed: readonly string[];
}

/** Maximum UTF-16 units of a user's request. */
const REQUEST = 400;
/** Maximum UTF-16 units of an excerpt that is neither a request nor a tagged block. */
const LONGEST = 300;
/** Maximum UTF-16 units of short lines that are joined into one excerpt. */
const JOINED = 160;
/** Maximum UTF-16 units of a short line. */
const SHORT_LINE = 80;
/** Maximum UTF-16 units of a short result, which nearly always answers its call directly. */
const SHORT_RESULT = 400;
/** Maximum UTF-16 units of an ordinary argument. A longer one counts as content that the call wrote. */
const LONG_ARGUMENT = 110;

/**
 * Weights of excerpts by their source, relative to an excerpt of a long result (`found`), and factors: `edge` for the first statement and
 * for the last one before calls, `alone` for statements of a message without calls, `odd` for an unusual line. They were tuned on recorded
 * conversations; small changes matter little.
 */
const WORTH = { said: 3, code: 1, shortResult: 3, found: 1, wrote: 1, edge: 1.3, alone: 1.3, odd: 3 };

interface Known {
  readonly redact: Redact | undefined;
  readonly excerpts: Excerpts;
}

const known = new WeakMap<Message, Known>();

/** Returns the excerpts of a message, redacted if `redact` is given. Cached per message object. */
export function excerptsOf(message: Message, redact?: Redact): Excerpts {
  const found = known.get(message);
  if (found && found.redact === redact) return found.excerpts;
  const excerpts = extract(redact ? redactMessage(message, redact) : message);
  known.set(message, { redact, excerpts });
  if (excerpts.message !== message) known.set(excerpts.message, { redact, excerpts });
  return excerpts;
}

function extract(message: Message): Excerpts {
  // Long because one pass over the blocks collects excerpts, terms and names.
  const parts: Excerpt[] = [];
  const said = readable(within(textOf(message.content.filter((block) => block.type === 'text'))));
  const calls = message.content.some((block) => block.type === 'tool_use');
  const terms: Terms[] = [];
  const passed: string[] = [];
  let number = 0;
  /** Adds the pieces of one text. */
  const add = (
    kind: Quote['kind'],
    pieces: readonly Piece[],
    worthOf: (piece: Piece, index: number) => number,
    callId?: string,
  ) => {
    pieces.forEach((piece, index) => {
      const { text, leans, isBehindGap } = piece;
      number += isBehindGap ? 2 : 1;
      const own = termsOf(text);
      terms.push(own);
      const opens = index === 0 && !isBehindGap;
      const goesOn = index < pieces.length - 1;
      parts.push({
        kind,
        text,
        part: number,
        opens,
        goesOn,
        leans,
        worth: worthOf(piece, index),
        callId,
        terms: own,
        tokens: estimateCounter.count(text),
      });
    });
  };
  if (message.role === 'assistant') {
    const statements = sentencesOf(said);
    add('said', statements, ({ isCode }, index) => {
      const edge = index === 0 || (calls && index === statements.length - 1);
      return (isCode ? WORTH.code : WORTH.said * (edge ? WORTH.edge : 1)) * (calls ? 1 : WORTH.alone);
    });
  } else if (isUserRequest(message)) {
    const files = message.content.flatMap((block) => (block.type === 'file' ? `(${nameOf(block)})` : []));
    // The content of an attached file is not the user's words.
    const own = message.content.filter(({ origin }) => origin !== 'file');
    const text = [...files, textOf(own).trim()].filter(Boolean).join(' ') || '(a file)';
    add('asked', [{ text: distilled(text, REQUEST, true), leans: false }], () => 1);
    if (text.length > REQUEST) terms.push(termsOf(said));
    const attached = within(textOf(message.content.filter(({ origin }) => origin === 'file')));
    add('found', joinLines(piecesOf(attached)), worthInResult(attached));
  } else terms.push(termsOf(said));
  const names = [...namesIn(said, false)];
  for (const block of message.content) {
    if (block.type === 'tool_use') {
      const { written, short, replaced } = textsIn(block);
      for (const text of written) {
        const pieces = joinLines(piecesOf(withoutLines(readable(within(text)), replaced)));
        add('wrote', pieces, () => WORTH.wrote, block.id);
      }
      const text = within(short);
      terms.push(termsOf(`${block.name} ${text}`));
      passed.push(...namesIn(text, true));
      // Numbers in written content are not names.
      for (const content of written) passed.push(...namesIn(within(content), false));
    } else if (block.type === 'tool_result') {
      const text = resultText(block);
      names.push(...namesIn(text, false));
      const { body, frame } = framed(text);
      const behind = frame === '' ? [] : [{ text: frame, leans: false, isBehindGap: true }];
      add('found', [...joinLines(piecesOf(body)), ...behind], worthInResult(text), block.toolUseId);
    }
  }
  return {
    message,
    parts,
    terms: terms.length === 1 ? (terms[0] as Terms) : sortedOnce(terms),
    names: [...new Set(names)],
    passed: [...new Set(passed)],
  };
}

/** Returns the weight of a piece of a result. It is higher in a short result, and if the piece has a line unlike all others. */
function worthInResult(text: string): (piece: Piece) => number {
  const shortness = Math.sqrt(SHORT_RESULT / Math.max(text.length, SHORT_RESULT));
  const worth = Math.max(WORTH.found, WORTH.shortResult * shortness);
  const odd = oddLines(text).map((line) => line.text.trim());
  return (piece) => worth * (odd.some((line) => piece.text.includes(line)) ? WORTH.odd : 1);
}

/** Maximum UTF-16 units of a tagged block after a result, such as `<system-reminder>…`. */
const LONGEST_FRAME = 1_000;

/** Splits off a tagged block that a program appended to a result. The block becomes one excerpt. */
function framed(text: string): { readonly body: string; readonly frame: string } {
  const end = text.trimEnd();
  const [, tag] = (end.endsWith('>') && /<\/([\w-]{1,40})>$/.exec(end.slice(-43))) || [];
  const start = tag === undefined ? -1 : end.lastIndexOf(`\n<${tag}>`);
  if (start === -1 || end.length - start > LONGEST_FRAME) return { body: text, frame: '' };
  return { body: text.slice(0, start), frame: end.slice(start + 1) };
}

/** A piece of a text: lines, sentences, or code between fences. */
interface Piece {
  text: string;
  /** `true` if the piece continues the paragraph of the previous piece. */
  readonly leans: boolean;
  readonly isCode?: boolean;
  /** `true` if the piece does not continue the piece before it, because text was omitted or the piece is a tagged block. */
  readonly isBehindGap?: boolean;
}

/** Matches a line or sentence that introduces the next one: it ends in a colon, or is a Markdown heading. */
const LEADS = /[:：]\**$|^#+ /;

/** Matches an item of a list. */
const ITEM = /^\s*(?:[-*•+|]|\d+[.)])/;

/** Matches a title: a short line that is neither a sentence nor a list item. */
const TITLE = /^(?![-*•+|]|\d+[.)])[^\n]{1,48}[\p{L}\p{N})*]$/u;

/** Matches the end of a sentence. */
const SENTENCE_END = /(?<=[.!?…])\s+|(?<=[。！？])/;

/** Splits a text into sentences and lines, and joins short neighbors. A line that introduces the next one is joined with it. */
function sentencesOf(text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let before = '';
  let isCode = false;
  let isLed = false;
  for (const line of text.split('\n')) {
    if (/^\s*(?:```|~~~)/.test(line)) {
      isCode = !isCode;
      continue;
    }
    if (!hasWord(line)) continue;
    const sentences = line.length <= LONGEST ? [line] : line.split(SENTENCE_END).flatMap(cutLong);
    for (const [index, part] of sentences.entries()) {
      const last = pieces.at(-1);
      isLed = LEADS.test(before) || (isLed && ITEM.test(part));
      const continues = last?.isCode === isCode && !LEADS.test(part);
      const areShort = before.length <= SHORT_LINE && part.length <= SHORT_LINE;
      const longest = index > 0 || TITLE.test(before) ? LONGEST : areShort ? JOINED : 0;
      const most = isLed ? 2 * LONGEST : continues ? longest : 0;
      if (last && last.text.length + part.length <= most)
        last.text += (index > 0 ? ' ' : '\n') + (isCode ? part : part.trim());
      else pieces.push({ text: part.trim(), leans: index > 0, isCode });
      before = part.trim();
    }
  }
  const last = pieces.at(-1);
  if (last && !last.isCode && /[:：]\**$/.test(last.text)) {
    // A last sentence that ends in a colon only announces a call.
    const announced = last.text.split(SENTENCE_END).at(-1) ?? '';
    last.text = last.text.slice(0, -announced.length).trimEnd();
    if (last.text === '') pieces.pop();
  }
  return pieces;
}

/**
 * Splits a tool's output or input into lines. Turns JSON into lines of `key value` pairs, splits long lines between the objects of a list
 * and after sentences, and replaces repeated lines by one line with their count.
 */
export function linesOf(text: string): readonly string[] {
  return piecesOf(readable(text)).map((piece) => piece.text);
}

function piecesOf(text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let isBehindGap = false;
  for (const line of atOnce(countedText(text)).split('\n')) {
    if (!hasWord(line) && line !== GAP) continue;
    if (line === GAP) {
      isBehindGap = true;
      continue;
    }
    if (line.length <= JOINED) {
      pieces.push({ text: line.trimEnd(), leans: false, isBehindGap });
      isBehindGap = false;
      continue;
    }
    let leans = false;
    for (const sentence of line.split(/(?<=\})\s*,\s*(?=["{])|(?<=[.!?;])\s+|(?<=[。！？；])/)) {
      for (const text of hasWord(sentence) ? cutLong(sentence.trim()) : []) {
        pieces.push({ text, leans, isBehindGap });
        leans = true;
        isBehindGap = false;
      }
    }
  }
  return pieces;
}

/** Joins short neighboring lines, so that related lines stay together. */
function joinLines(lines: readonly Piece[]): readonly Piece[] {
  const groups: Piece[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const line of lines) {
    const fits = !line.isBehindGap && length + line.text.length <= JOINED;
    length = fits ? length + line.text.length + 1 : line.text.length;
    const last = groups.at(-1);
    if (last && fits) last.push(line);
    else groups.push([line]);
  }
  // `join` makes a flat string. A string built by repeated concatenation takes several times as long to read.
  return groups.map((group) => ({
    ...(group[0] as Piece),
    text: group.map(({ text }) => text).join('\n'),
  }));
}

/** Splits a text into pieces of at most {@link LONGEST} UTF-16 units, at a space or a comma if possible. */
function cutLong(text: string): readonly string[] {
  if (text.length <= LONGEST) return text === '' ? [] : [text];
  const pieces: string[] = [];
  let start = 0;
  while (text.length - start > LONGEST) {
    const end = start + LONGEST;
    // Searches only this piece, because a line of megabytes may have neither a space nor a comma.
    const piece = text.slice(start, end + 1);
    let cut = start + Math.max(piece.lastIndexOf(' '), piece.lastIndexOf(',') + 1);
    if (cut <= start + LONGEST / 2) cut = /[\ud800-\udbff]/.test(text.charAt(end - 1)) ? end - 1 : end;
    pieces.push(text.slice(start, cut));
    start = cut;
  }
  pieces.push(text.slice(start));
  return pieces;
}

const WORD = /[\p{L}\p{N}]/u;

const hasWord = (text: string): boolean => WORD.test(text);

/**
 * Returns the texts in a call's input: long ones as written content, short ones and numbers joined. Keys are not part of these texts. The
 * lines of the old text of an edit, which has a key of its own, are returned separately.
 */
function textsIn({ input }: ToolUseBlock) {
  const written: string[] = [];
  const short: string[] = [];
  const replaced = new Set<string>();
  const open: JsonValue[] = [input];
  // An explicit stack, because input may be nested deeper than the call stack allows.
  while (open.length > 0) {
    const next = open.pop() as JsonValue;
    if (typeof next === 'string') (next.length > LONG_ARGUMENT ? written : short).push(next);
    else if (typeof next === 'number') short.push(String(next));
    else if (typeof next === 'object' && next !== null) {
      for (const [key, value] of Object.entries(next).reverse()) {
        if (typeof value === 'string' && value.length > LONG_ARGUMENT && OLD_KEY.test(key))
          for (const line of within(value).split('\n')) replaced.add(line);
        else open.push(value as JsonValue);
      }
    }
  }
  return { written, short: short.join(' '), replaced };
}
