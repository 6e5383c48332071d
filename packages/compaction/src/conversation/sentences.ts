import { headOf, tailOf } from '@x/core/internal';
import { shapeOf } from './lines.js';

/** A part of a text that is kept whole or not at all. */
interface Unit {
  readonly start: number;
  readonly end: number;
  readonly worth: number;
}

/** Marks omitted text. */
const GAP = '[…]';

/** Maximum UTF-16 units of a sentence that is kept whole. A longer one is cut between words. */
const LONGEST = 300;
/** A text of less than this share of the length stays as it is. */
const BRIEF = 0.3;
/** Maximum UTF-16 units of each end of a text. A longer text loses its middle before its sentences are compared. */
const LONGEST_END = 100_000;
/** Minimum number of lines that differ only in numbers to count as pasted. */
const ALIKE = 3;
/** Minimum share of punctuation in a line that counts as code or data. */
const SIGNS = 0.15;

/** Weights of units: typed sentences rank above pasted code, logs and pages. `edge` and `exact` (numbers, names) are small bonuses. */
const WORTH = { gap: -1, pasted: 0, heading: 3, prose: 4, edge: 2, exact: 1 };

const SENTENCE_END = /(?<=[.!?…]|\[…\])\s|(?<=[。！？])/u;
const FENCES = ['```', '~~~'];
const PASTED = /^(?: {4}|\t|>|\|)/;
const BRACKETS = /^[{}[\]()]+[,;]?$/;
const OPENED = /^<([A-Za-z][\w:-]*)(?=[\s/>])/;
const SIGN = /[^\p{L}\p{N}\p{M}\s.,;:!?'"’“”()、。，！？-]/gu;
const EXACT = /\p{N}|[`"“„«]\S/u;

/**
 * Shortens a user's text to at most `length` UTF-16 units of whole sentences, in order, and marks every gap. Drops pasted text
 * first: code, logs and tagged pages, recognized by their form.
 *
 * @param isTerse Drops all pasted text.
 */
export function distilled(text: string, length: number, isTerse = false): string {
  if (text.length <= (isTerse ? length * BRIEF : length)) return text;
  const most = Math.max(LONGEST_END, length);
  if (text.length > 3 * most) {
    const [head, tail] = [headOf(text, most), tailOf(text, most)];
    const ends = [head.slice(0, head.lastIndexOf('\n') + 1 || most), GAP, tail.slice(tail.indexOf('\n') + 1)];
    return distilled(ends.join('\n'), length, isTerse);
  }
  const units = unitsOf(text);
  const nearness = (index: number) => Math.min(index, units.length - 1 - index);
  const order = [...units.keys()].sort(
    (one, other) =>
      (units[other] as Unit).worth - (units[one] as Unit).worth || nearness(one) - nearness(other),
  );
  const chosen = new Set<number>();
  let room = length - GAP.length;
  for (const index of order) {
    const { start, end, worth } = units[index] as Unit;
    const cost = end - start + GAP.length + 2;
    if (cost > room || worth === WORTH.gap) continue;
    room -= cost;
    chosen.add(index);
  }
  const pasted = [...chosen].filter((index) => (units[index] as Unit).worth === WORTH.pasted);
  // Drop the pasted lines if only a few are left. They would not be recognized as pasted if the text is shortened again.
  const isLittle = isTerse || pasted.length < 2 * ALIKE;
  if (isLittle && pasted.length < chosen.size) for (const index of pasted) chosen.delete(index);
  let short = '';
  let last = 0;
  for (const index of [...chosen].sort((one, other) => one - other)) {
    const { start, end } = units[index] as Unit;
    const between = text.slice(last, start);
    const space = between.includes('\n') ? '\n' : ' ';
    short += between.trim() === '' ? between : `${space}${GAP}${space}`;
    short += text.slice(start, end);
    last = end;
  }
  return `${short.trimStart()}${text.slice(last).trim() === '' ? '' : ` ${GAP}`}`.trim();
}

/** Splits a text into the sentences that were typed and the lines that were pasted. */
function unitsOf(text: string): readonly Unit[] {
  const units: Unit[] = [];
  const lines = unwrapped(text.split('\n'));
  const shapes = new Map<string, number>();
  const kinds = lines.map((line) => shapeOf(line.slice(0, LONGEST)));
  for (const kind of kinds) shapes.set(kind, (shapes.get(kind) ?? 0) + 1);
  const add = (start: number, part: string, worth: number) => {
    const last = start + part.trimEnd().length;
    for (let at = start + part.length - part.trimStart().length; at < last; ) {
      const rest = text.slice(at, last);
      const space = rest.length > LONGEST ? rest.lastIndexOf(' ', LONGEST) : rest.length;
      const end = at + (space > 0 ? space : headOf(rest, LONGEST).length);
      units.push({ start: at, end, worth });
      at = end;
    }
  };
  let isFenced = false;
  let frame: string | undefined;
  let at = 0;
  const lastFence = lines.findLastIndex((line) => FENCES.includes(line.trim()));
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] as string;
    const isFence = FENCES.some((fence) => line.trimStart().startsWith(fence));
    const opened = frame === undefined ? OPENED.exec(line.trimStart())?.[1] : undefined;
    if (opened !== undefined && text.includes(`</${opened}>`, at)) frame = opened;
    const isPasted =
      isFenced ||
      isFence ||
      frame !== undefined ||
      PASTED.test(line) ||
      BRACKETS.test(line.trim()) ||
      (shapes.get(kinds[index] as string) ?? 0) >= ALIKE ||
      (line.match(SIGN)?.length ?? 0) > line.length * SIGNS;
    if (line.trim() === GAP) add(at, line, WORTH.gap);
    else if (line.startsWith('#')) add(at, line, WORTH.heading);
    else if (isPasted) add(at, line, WORTH.pasted);
    else {
      let from = at;
      for (const part of line.split(SENTENCE_END)) {
        from = text.indexOf(part, from);
        const exact = EXACT.test(part) ? WORTH.exact : 0;
        add(from, part, part.trim() === GAP ? WORTH.gap : WORTH.prose + exact);
        from += part.length;
      }
    }
    // An unclosed fence is left over from an earlier shortening.
    if (isFence) isFenced = !isFenced && index < lastFence;
    if (frame !== undefined && line.includes(`</${frame}>`)) frame = undefined;
    at += line.length + 1;
  }
  const isProse = ({ worth }: Unit) => worth >= WORTH.prose;
  const edges = new Set([units.findIndex(isProse), units.findLastIndex(isProse)]);
  return units.map((unit, index) => (edges.has(index) ? { ...unit, worth: unit.worth + WORTH.edge } : unit));
}

/** Minimum UTF-16 units of a line that may have been wrapped in the middle of a sentence. */
const WRAPPED = 40;
const ENDS = /[.!?…:：。！？\]]["”»)*_`]*$/u;
const GOES_ON = /^ {0,3}[\p{L}`"'“(]/u;

/** Joins lines that were wrapped in the middle of a sentence. */
function unwrapped(lines: readonly string[]): readonly string[] {
  const whole: string[] = [];
  let before = '';
  for (const line of lines) {
    const mayGoOn = before.length >= WRAPPED && !ENDS.test(before) && GOES_ON.test(line);
    // Rows of the same kind are not one sentence.
    if (mayGoOn && shapeOf(line) !== shapeOf(before)) whole[whole.length - 1] += `\n${line}`;
    else whole.push(line);
    before = FENCES.includes(line.trim()) || PASTED.test(line) || line.startsWith('#') ? '' : line.trimEnd();
  }
  return whole;
}

/** Matches a line in brackets, which a program wrote in the user's name. */
const BRACKETED = /^\[[^\][\n]*\]$/;

/** Tests whether a program wrote a text in the user's name: all of it is between tags or brackets. */
export function isFramed(text: string): boolean {
  let rest = text.trim();
  if (BRACKETED.test(rest)) return true;
  for (let name = OPENED.exec(rest)?.[1]; name !== undefined; name = OPENED.exec(rest)?.[1]) {
    const end = rest.indexOf(`</${name}>`);
    if (end === -1) return false;
    rest = rest.slice(end + name.length + 3).trim();
  }
  return rest === '' && text.trim() !== '';
}

/** Matches Markdown headings. */
const HEADINGS = /^#{1,6} \S/gm;
/** The minimum number of headings and UTF-16 units of a page of instructions. */
const PAGE = { headings: 3, length: 2_000 };

/** Tests if a text is a page with headings. */
export function isPage(text: string): boolean {
  return text.length >= PAGE.length && (text.match(HEADINGS)?.length ?? 0) >= PAGE.headings;
}
