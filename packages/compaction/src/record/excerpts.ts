import { estimateCounter, type JsonValue, type Message, type ToolUseBlock, textOf } from '@x/core';
import { atOnce, type Redact } from '@x/core/internal';
import { countedText, oddLines } from '../conversation/lines.js';
import { redactMessage } from '../conversation/redaction.js';
import { isUserRequest } from '../conversation/regions.js';
import { distilled } from '../conversation/sentences.js';
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
  /** Weight beside others of the same length. */
  readonly worth: number;
  /** It says little without the excerpt in front of it: it continues in the same paragraph. */
  readonly leans: boolean;
  /** The call that it belongs to: one that wrote it, or one whose result it is from. */
  readonly callId?: string | undefined;
}

/** The excerpts that one message offers to a record. */
export interface Excerpts {
  /** The message itself, without secrets. */
  readonly message: Message;
  readonly parts: readonly Excerpt[];
  /** The terms of the whole message, each once. */
  readonly terms: Terms;
  /** The names that it says or prints, and those that it passes to tools. */
  readonly names: readonly string[];
  readonly passed: readonly string[];
}

/** UTF-16 units of a request that stands nowhere else. */
const REQUEST = 400;
/** UTF-16 units of one excerpt, and of short lines that are joined to one. */
const LONGEST = 300;
const JOINED = 160;
const SHORT_LINE = 80;
/** A result of at most so many UTF-16 units is nearly always an answer to what was asked. */
const SHORT_RESULT = 400;
/** An argument of more UTF-16 units is content that the call wrote. */
const LONG_ARGUMENT = 110;

/** Weights beside an excerpt of a long result. Chosen on recorded conversations; none is sharp. */
const WORTH = { said: 3, ending: 1.3, closing: 1.3, code: 1, shortResult: 3, found: 1, odd: 3, wrote: 1 };

interface Known {
  readonly redact: Redact | undefined;
  readonly excerpts: Excerpts;
}

const known = new WeakMap<Message, Known>();

/** The excerpts of a message, made once per message object: without secrets where `redact` is given. */
export function excerptsOf(message: Message, redact?: Redact): Excerpts {
  const found = known.get(message);
  if (found && found.redact === redact) return found.excerpts;
  const excerpts = extract(redact ? redactMessage(message, redact) : message);
  known.set(message, { redact, excerpts });
  if (excerpts.message !== message) known.set(excerpts.message, { redact, excerpts });
  return excerpts;
}

function extract(message: Message): Excerpts {
  // Long because each kind of block offers excerpts, terms and names at once.
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
    for (const [index, piece] of pieces.entries()) {
      const { text, leans, isBehindGap } = piece;
      number += isBehindGap ? 2 : 1;
      const own = termsOf(text);
      terms.push(own);
      const opens = index === 0 && !isBehindGap;
      const tokens = estimateCounter.count(text);
      parts.push({
        kind,
        text,
        part: number,
        opens,
        leans,
        worth: worthOf(piece, index),
        callId,
        terms: own,
        tokens,
      });
    }
  };
  if (message.role === 'assistant') {
    const statements = sentencesOf(said);
    add('said', statements, ({ isCode }, index) => {
      const edge = index === 0 || (calls && index === statements.length - 1);
      return (isCode ? WORTH.code : WORTH.said * (edge ? WORTH.ending : 1)) * (calls ? 1 : WORTH.closing);
    });
  } else if (isUserRequest(message)) {
    const text = textOf(message).trim() || '(a file)';
    add('asked', [{ text: distilled(text, REQUEST, true), leans: false }], () => 1);
    if (text.length > REQUEST) terms.push(termsOf(said));
  } else terms.push(termsOf(said));
  const printed = [said];
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
      // Numbers of a content that is written name nothing.
      for (const content of written) passed.push(...namesIn(within(content), false));
    } else if (block.type === 'tool_result') {
      const text = resultText(block);
      printed.push(text);
      const { body, frame } = framed(text);
      const behind = frame === '' ? [] : [{ text: frame, leans: false, isBehindGap: true }];
      add('found', [...joinLines(piecesOf(body)), ...behind], worthInResult(text), block.toolUseId);
    }
  }
  return {
    message,
    parts,
    terms: terms.length === 1 ? (terms[0] as Terms) : sortedOnce(terms),
    names: namesIn(printed.join('\n'), false),
    passed: passed.length < 2 ? passed : [...new Set(passed)],
  };
}

/** Returns what a piece of a result is worth: more in a short result, and more if it holds an odd line. */
function worthInResult(text: string): (piece: Piece) => number {
  const isShort = Math.sqrt(SHORT_RESULT / Math.max(text.length, SHORT_RESULT));
  const worth = Math.max(WORTH.found, WORTH.shortResult * isShort);
  const odd = oddLines(text).map((line) => line.text.trim());
  return (piece) => worth * (odd.some((line) => piece.text.includes(line)) ? WORTH.odd : 1);
}

/** UTF-16 units of a frame that may enter a record whole. */
const LONGEST_FRAME = 1_000;

/** Tells what a program added behind a result, between tags of its own: it is quoted whole, or not at all. */
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
  /** It continues in a paragraph that begins in the piece before. */
  readonly leans: boolean;
  readonly isCode?: boolean;
  /** Something of its text is left out in front of it. */
  readonly isBehindGap?: boolean;
}

/** Ends in a colon, or is one line that begins as headings of Markdown do, or is short and no sentence, nor an item of a list. */
const HEADING = /[:：]\**$|^#+ [^\n]+$|^(?![-*•+|]|\d+[.)])[^\n]{1,48}[\p{L}\p{N})*]$/u;

/** A short line of one sentence that ends so announces what follows: without it, it says nothing. */
const ANNOUNCEMENT = /^(?!.*(?:[.!?]\s|[。！？])).*[:：]\**$/;

/** Sentences and lines, short neighbors of one line together. Announcements stand only with what they announce. */
function sentencesOf(text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let isShort = false;
  let isCode = false;
  for (const line of text.split('\n')) {
    if (/^\s*(?:```|~~~)/.test(line)) {
      isCode = !isCode;
      isShort = false;
      continue;
    }
    if (!hasWord(line)) continue;
    if (line.length <= LONGEST) {
      const last = pieces.at(-1);
      // Items of a list belong together, and lines of code; a heading belongs to what it heads.
      const together = last ? last.text.length + line.length : LONGEST;
      const headed = last !== undefined && last.isCode === isCode && HEADING.test(last.text);
      if (
        last &&
        ((headed && together < LONGEST) || (isShort && together <= JOINED && line.length <= SHORT_LINE))
      ) {
        last.text += `\n${isCode ? line : line.trim()}`;
      } else pieces.push({ text: line.trim(), leans: false, isCode });
      isShort = line.length <= SHORT_LINE;
      continue;
    }
    isShort = false;
    let joined = '';
    let leans = false;
    const add = () => {
      for (const piece of cutLong(joined.trim())) {
        pieces.push({ text: piece, leans, isCode });
        leans = true;
      }
    };
    for (const sentence of line.split(/(?<=[.!?…])\s+|(?<=[。！？])/)) {
      if (joined && joined.length + sentence.length > LONGEST) {
        add();
        joined = '';
      }
      joined += joined ? ` ${sentence}` : sentence;
    }
    add();
  }
  return pieces.filter(({ text, isCode }, index) => {
    const isAnnouncement = !isCode && text.length <= SHORT_LINE && ANNOUNCEMENT.test(text);
    const next = pieces[index + 1];
    if (isAnnouncement && next) pieces[index + 1] = { ...next, isBehindGap: true };
    return !isAnnouncement;
  });
}

/**
 * Lines of what a tool printed or was given. Data becomes facts; a line that is too long is split between the items
 * of a list and behind sentences; lines that repeat stand once with their number.
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

/** Short neighbors together, so that what stands side by side stays so. */
function joinLines(lines: readonly Piece[]): readonly Piece[] {
  const joined: Piece[] = [];
  for (const line of lines) {
    const last = joined.at(-1);
    if (last && !line.isBehindGap && last.text.length + line.text.length <= JOINED)
      last.text += `\n${line.text}`;
    else joined.push({ ...line });
  }
  return joined;
}

/** Pieces of at most {@link LONGEST} UTF-16 units, cut at a space or a comma if there is one. */
function cutLong(text: string): readonly string[] {
  if (text.length <= LONGEST) return text === '' ? [] : [text];
  const pieces: string[] = [];
  let start = 0;
  while (text.length - start > LONGEST) {
    const end = start + LONGEST;
    // No further back than it begins: a line of megabytes may have neither.
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

function hasWord(text: string): boolean {
  return WORD.test(text);
}

/**
 * The texts of a call's input: long ones are content that it writes, the others stand together with numbers. Keys name nothing. What
 * the call replaces is neither: its lines stand apart.
 */
function textsIn({ input }: ToolUseBlock) {
  const written: string[] = [];
  const short: string[] = [];
  const replaced = new Set<string>();
  const open: JsonValue[] = [input];
  // A stack of its own: input may be nested deeper than the call stack reaches.
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
