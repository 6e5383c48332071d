import { setImmediate } from 'node:timers/promises';

/** Limits of one message. Parsing blocks other work, so the message's values and keys are counted as well as its bytes. */
const LIMITS = { bytes: 4 * 2 ** 20, values: 80_000 };
const NOTHING = { bytes: 0, values: 0 };
/** Maximum number of bytes and lines in a piece. Other work can run between two pieces. */
const PIECE_BYTES = 2 ** 16;
const PIECE_LINES = 50;

const [LINE_FEED, RETURN, QUOTE, BACKSLASH] = [10, 13, 34, 92];
/** The characters `,`, `:`, `[` and `{`. Each begins a value or a key. */
const BEGINNINGS = [44, 58, 91, 123];

/**
 * Yields the bytes of a server in small pieces. Other work can run between two pieces.
 *
 * @param end The end of a message: a line, an empty line (`event`), or the end of everything (`body`).
 * @throws If a message is too large to be parsed at once.
 */
export async function* bounded(
  source: AsyncIterable<Uint8Array>,
  end: 'line' | 'event' | 'body',
): AsyncGenerator<Uint8Array> {
  let message = { ...NOTHING };
  let before = LINE_FEED;
  let [isLineEmpty, isText, isEscaped] = [true, false, false];
  const read = (byte: number): boolean => {
    message.bytes++;
    const isRest = end === 'event' && byte === LINE_FEED && before === RETURN;
    const isLine = !isRest && (byte === LINE_FEED || (end === 'event' && byte === RETURN));
    before = byte;
    if (isLine) {
      if (end === 'line' || (end === 'event' && isLineEmpty)) message = { ...NOTHING };
      [isLineEmpty, isText, isEscaped] = [true, false, false];
    } else if (!isRest) {
      isLineEmpty = false;
      if (byte === QUOTE && !isEscaped) isText = !isText;
      else if (!isText && BEGINNINGS.includes(byte)) message.values++;
      isEscaped = isText && byte === BACKSLASH && !isEscaped;
    }
    return isLine;
  };
  for await (const chunk of source) {
    let [begin, lines] = [0, 0];
    for (let at = 0; at < chunk.length; at++) {
      if (read(chunk[at] as number)) lines++;
      const isWhole = lines === PIECE_LINES || at - begin === PIECE_BYTES || at === chunk.length - 1;
      if (!isWhole) continue;
      for (const unit of ['bytes', 'values'] as const) {
        if (message[unit] > LIMITS[unit])
          throw new Error(`A message of the server has more than ${LIMITS[unit]} ${unit}.`);
      }
      yield chunk.subarray(begin, at + 1);
      [begin, lines] = [at + 1, 0];
      await setImmediate();
    }
  }
}
