import { type ContentBlock, type JsonValue, type Message, textOf } from '@x/core';
import { headOf, isObject, jsonText, tailOf } from '@x/core/internal';
import { counted } from '../conversation/lines.js';
import { linesOf } from '../record/excerpts.js';
import { characterKinds, lowerCase, UNSPACED, WORD } from '../record/terms.js';

/** The name of the tool; its own calls and results are never passages, or it would find what it found. */
export const RECALL = 'recall';

/** UTF-16 units of a passage. */
const LONGEST = 400;

/** UTF-16 units of one block that can be found: of more its beginning and its end. */
const MOST_SEARCHED = 4_000_000;

/** The texts of a message that can be found, and whether they are all of it. */
export interface Passages {
  /** In order: neighboring lines of at most 400 UTF-16 units together. */
  readonly texts: readonly string[];
  readonly isWhole: boolean;
}

export function passagesOf(message: Message): Passages {
  const texts: string[] = [];
  let isWhole = true;
  for (const block of message.content) {
    let text = textOfBlock(block);
    if (text.length > MOST_SEARCHED) {
      isWhole = false;
      text = `${headOf(text, MOST_SEARCHED / 2)}\n${tailOf(text, MOST_SEARCHED / 2)}`;
    }
    let open = '';
    for (const line of counted(linesOf(text))) {
      if (open && open.length + line.length >= LONGEST) {
        texts.push(open);
        open = '';
      }
      open += open ? `\n${line}` : line;
    }
    if (open) texts.push(open);
  }
  return { texts, isWhole };
}

/** The text of a message as it is read back: what was said, calls with their input, results. */
export function wholeText(message: Message): string {
  return message.content.map(textOfBlock).filter(Boolean).join('\n');
}

/** Names the source of a message: the user, the assistant, or the tool that a result is from. */
export function sourceOf({ role, content }: Message): string {
  const [result] = content.filter((block) => block.type === 'tool_result');
  if (result) return `result of ${result.toolName}`;
  return role;
}

function textOfBlock(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'tool_use':
      return block.name === RECALL ? '' : `${block.name} ${inputText(block.input)}`;
    case 'tool_result':
      return block.toolName === RECALL ? '' : textOf([block]);
    default:
      return '';
  }
}

/** A key and its value a line; strings as they are, so that they read as they were written. */
function inputText(input: JsonValue): string {
  if (!isObject(input)) return valueText(input);
  return Object.entries(input)
    .map(([key, value]) => `${key}: ${valueText(value as JsonValue)}`)
    .join('\n');
}

function valueText(value: JsonValue): string {
  if (typeof value === 'string') return value;
  try {
    return jsonText(value);
  } catch {
    return '(nested too deep to be shown)';
  }
}

/**
 * The words of a text as 32-bit FNV-1a hashes, each as often as it stands there: letters and digits whatever their case,
 * the parts of camelCase besides, and pairs of neighboring characters in scripts without spaces between words. Of words
 * longer than {@link STEM} letters the first ones count as a word too, because endings differ in most languages.
 */
export function wordsOf(text: string): Uint32Array {
  const kinds = characterKinds();
  const words: number[] = [];
  const whole = new Hashed(words);
  const part = new Hashed(words);
  let parts = 0;
  let wasLower = false;
  let previous = 0;
  for (let index = 0; index <= text.length; index++) {
    const unit = index < text.length ? text.charCodeAt(index) : 0;
    const kind = unit === UNDERSCORE ? 0 : kinds[unit];
    if (kind === WORD) {
      const isUpper = unit >= 0x41 && unit <= 0x5a;
      if (isUpper && wasLower) {
        part.end();
        parts++;
      }
      wasLower = unit >= 0x61 && unit <= 0x7a;
      const lower = isUpper ? unit + 0x20 : unit < 0xc0 ? unit : lowerCase(unit);
      whole.add(lower);
      part.add(lower);
      previous = 0;
      continue;
    }
    whole.end();
    if (parts > 0) part.end();
    else part.clear();
    parts = 0;
    wasLower = false;
    if (kind === UNSPACED) {
      // A pair stands for a word of two characters, which most words of these scripts are.
      if (previous > 0) words.push(Math.imul(Math.imul(BASIS ^ previous, PRIME) ^ unit, PRIME) >>> 0);
      previous = unit;
    } else previous = 0;
  }
  return Uint32Array.from(words);
}

const UNDERSCORE = 0x5f;
const BASIS = 0x811c9dc5;
const PRIME = 0x01000193;
/** Letters of a word that count without its ending. */
const STEM = 5;
const STEMMED = 0x9e3779b9;

/** A word that is being read, and how it begins. */
class Hashed {
  readonly #words: number[];
  #hash = BASIS;
  #stem = 0;
  #length = 0;

  constructor(words: number[]) {
    this.#words = words;
  }

  add(unit: number): void {
    this.#hash = Math.imul(this.#hash ^ unit, PRIME);
    if (++this.#length === STEM) this.#stem = this.#hash ^ STEMMED;
  }

  end(): void {
    if (this.#length > 0) this.#words.push(this.#hash >>> 0);
    if (this.#length > STEM) this.#words.push(this.#stem >>> 0);
    this.clear();
  }

  clear(): void {
    this.#hash = BASIS;
    this.#length = 0;
  }
}
