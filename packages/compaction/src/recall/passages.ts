import { type ContentBlock, type JsonValue, type Message, textOf } from '@x/core';
import { headOf, isObject, jsonText, tailOf } from '@x/core/internal';
import { nameOf } from '../conversation/text.js';
import { linesOf } from '../record/excerpts.js';

/** The name of the recall tool. Its calls and results are not indexed, so that it does not find its own earlier results. */
export const RECALL = 'recall';

/** Maximum UTF-16 units of a passage. */
const LONGEST = 400;

/** Maximum UTF-16 units of one block that are searched. Of a longer block, the beginning and the end are searched. */
const MOST_SEARCHED = 4_000_000;

/** The searchable texts of a message, and whether they cover the whole message. */
export interface Passages {
  /** Passages in order. Each has neighboring lines of at most 400 UTF-16 units together. */
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
    for (const line of linesOf(text)) {
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

/** Renders a recalled message: texts, calls with their input, and results. */
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
    case 'file':
      return block.filename === undefined ? '' : nameOf(block);
    default:
      return '';
  }
}

/** Renders the input of a call, one line per key. Strings are not quoted or escaped. */
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
