import { type ContentBlock, type JsonValue, jsonText, type Message, textOf } from '@x/core';
import { isObject } from '../conversation/marks.js';
import { linesOf } from '../record/excerpts.js';

/** The name of the tool; its own calls and results are never passages, or it would find what it found. */
export const RECALL = 'recall';

/** UTF-16 units of a passage. */
const LONGEST = 400;

/** The texts of a message that can be found, in order: neighboring lines of at most 400 UTF-16 units together. */
export function passagesOf(message: Message): readonly string[] {
  const passages: string[] = [];
  for (const block of message.content) {
    let open = '';
    for (const line of linesOf(textOfBlock(block))) {
      if (open && open.length + line.length >= LONGEST) {
        passages.push(open);
        open = '';
      }
      open += open ? `\n${line}` : line;
    }
    if (open) passages.push(open);
  }
  return passages;
}

/** The text of a message as it is read back: what was said, calls with their input, results. */
export function wholeText(message: Message): string {
  return message.content.map(textOfBlock).filter(Boolean).join('\n');
}

/** Who said it: the user, the assistant, or the tool that a result is from. */
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
  const words: number[] = [];
  for (const [match] of text.matchAll(WORD)) {
    if (UNSPACED.test(match)) {
      for (let index = 0; index + 1 < match.length; index++) words.push(hashOf(match, index, index + 2));
      if (match.length === 1) words.push(hashOf(match, 0, 1));
      continue;
    }
    const word = match.toLowerCase();
    words.push(hashOf(word, 0, word.length));
    if (word.length > STEM) words.push(hashOf(word, 0, STEM, STEMMED));
    if (!CAMEL.test(match)) continue;
    for (const part of match.split(BETWEEN_PARTS)) {
      const lower = part.toLowerCase();
      words.push(hashOf(lower, 0, lower.length));
      if (lower.length > STEM) words.push(hashOf(lower, 0, STEM, STEMMED));
    }
  }
  return Uint32Array.from(words);
}

const SCRIPTS =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}';
const WORD = new RegExp(`[${SCRIPTS}]+|(?:(?![${SCRIPTS}])[\\p{L}\\p{N}\\p{M}])+`, 'gu');
const UNSPACED = new RegExp(`^[${SCRIPTS}]`, 'u');
const CAMEL = /\p{Ll}\p{Lu}/u;
const BETWEEN_PARTS = /(?<=\p{Ll})(?=\p{Lu})/u;
const STEM = 5;
const STEMMED = 0x9e3779b9;

function hashOf(text: string, start: number, end: number, basis = 0x811c9dc5): number {
  let hash = basis;
  for (let index = start; index < end; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}
