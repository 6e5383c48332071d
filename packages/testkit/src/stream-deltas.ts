import type { ModelResponse, ModelStreamPart } from '@x/core';
import { headOf } from '@x/core/internal';

/** Characters of a tool call's input per delta. Small, so that consumers must join several deltas. */
const INPUT_DELTA_LENGTH = 16;

/** Yields the deltas of a response. `chunks` are the chunks of its first text, if the script has them. */
export function* streamDeltas(
  response: ModelResponse,
  chunks: readonly string[] | undefined,
): Generator<ModelStreamPart> {
  let named = chunks;
  for (const block of response.content) {
    if (block.type === 'thinking') {
      for (const text of words(block.thinking)) yield { type: 'thinking-delta', text };
    } else if (block.type === 'text') {
      for (const text of named ?? words(block.text)) yield { type: 'text-delta', text };
      named = undefined;
    } else if (block.type === 'tool_use') {
      for (const inputDelta of pieces(JSON.stringify(block.input))) {
        yield { type: 'tool-call-delta', id: block.id, name: block.name, inputDelta };
      }
    }
  }
}

/** Splits a text after each run of white space. */
function words(text: string): readonly string[] {
  return text.match(/^\s+|\S+\s*/g) ?? [];
}

function* pieces(text: string): Generator<string> {
  let rest = text;
  while (rest !== '') {
    const head = headOf(rest, INPUT_DELTA_LENGTH);
    yield head;
    rest = rest.slice(head.length);
  }
}
