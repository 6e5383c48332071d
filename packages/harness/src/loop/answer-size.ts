import type { ContentBlock, JsonObject, ModelResponse } from '@x/core';
import { headOf, jsonText } from '@x/core/internal';

/** Length of a run of blanks after which a model is assumed to be stuck in a loop. */
const MOST_BLANKS = 4_000;

/** Measures an answer while it is streamed. */
export class AnswerSize {
  readonly #mostBytes: number;
  #bytes = 0;
  #blanks = 0;

  /** @param mostBytes 0 for no limit. */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes || Number.POSITIVE_INFINITY;
  }

  /** Adds a chunk. Returns whether the answer is now too long, or ends in too many blanks. */
  isReached(piece: string): boolean {
    this.#bytes += Buffer.byteLength(piece);
    const written = piece.trimEnd().length;
    this.#blanks = written === 0 ? this.#blanks + piece.length : piece.length - written;
    return this.#bytes > this.#mostBytes || this.#blanks > MOST_BLANKS;
  }
}

/** Cuts an answer that was not streamed if it is too long. None of its calls runs then. Returns the same answer if it fits. */
export function cutAnswer(response: ModelResponse, mostBytes: number): ModelResponse {
  let room = mostBytes || Number.POSITIVE_INFINITY;
  let isCut = false;
  const content = response.content.flatMap((block): readonly ContentBlock[] => {
    if (isCut) return [];
    const bytes = bytesOf(block);
    isCut = bytes > room;
    if (isCut) return block.type === 'text' ? [{ type: 'text', text: headOf(block.text, room) }] : [];
    room -= bytes;
    return [block];
  });
  return isCut ? { ...response, content, finishReason: 'length' } : response;
}

/** Returns the bytes of a block with its names, ids and provider data. Files do not count, because generated images are large. */
function bytesOf(block: ContentBlock): number {
  if (block.type === 'file') return 0;
  const { text, ...rest } = { text: '', ...block };
  return Buffer.byteLength(text) + Buffer.byteLength(jsonText(rest as JsonObject));
}
