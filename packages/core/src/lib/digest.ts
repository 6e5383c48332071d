import { atOnce, type Work } from './in-pieces.js';

/** Computes the SHA-256 of a text's UTF-8 bytes as 64 hexadecimal digits; synchronous in every runtime. */
export function digest(text: string): string {
  return atOnce(digestWork(text));
}

/** Computes {@link digest} as work that may be done in pieces. */
export function* digestWork(text: string): Work<string> {
  // Encoding 20 MB takes as long as a hundred other pieces, and cannot be interrupted.
  yield;
  const bytes = new TextEncoder().encode(text);
  yield;
  const state = yield* sha256(bytes);
  return Array.from(state, (word) => word.toString(16).padStart(8, '0')).join('');
}

/** Returns random hexadecimal digits, two per byte, for unique names. */
export function randomHex(bytes: number): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  return Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const BLOCK_BYTES = 64;
/** Bytes to hash between two points at which the work may pause. */
const PIECE_BYTES = 1 << 18;
const ROUNDS = 64;
const { roots: ROUND_CONSTANTS, state: FIRST_STATE } = constants();

/** Implements FIPS 180-4, section 6.2, because the web's own SHA-256 is asynchronous and some callers are synchronous. */
function* sha256(bytes: Uint8Array): Work<Uint32Array> {
  const padded = new DataView(new ArrayBuffer(Math.ceil((bytes.length + 9) / BLOCK_BYTES) * BLOCK_BYTES));
  new Uint8Array(padded.buffer).set(bytes);
  padded.setUint8(bytes.length, 0x80);
  padded.setBigUint64(padded.byteLength - 8, BigInt(bytes.length) * 8n);
  const state = FIRST_STATE.slice();
  const words = new Uint32Array(ROUNDS);
  for (let at = 0; at < padded.byteLength; at += BLOCK_BYTES) {
    if (at % PIECE_BYTES === 0) yield;
    for (let round = 0; round < 16; round++) words[round] = padded.getUint32(at + round * 4);
    compress(state, words);
  }
  return state;
}

/** Adds a block (the first 16 words) to the state. */
function compress(state: Uint32Array, words: Uint32Array): void {
  for (let round = 16; round < ROUNDS; round++) {
    const [early, late] = [words[round - 15] as number, words[round - 2] as number];
    words[round] =
      (rotated(early, 7) ^ rotated(early, 18) ^ (early >>> 3)) +
      (rotated(late, 17) ^ rotated(late, 19) ^ (late >>> 10)) +
      (words[round - 16] as number) +
      (words[round - 7] as number);
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as Eight;
  for (let round = 0; round < ROUNDS; round++) {
    const sum =
      h +
      (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) +
      ((e & f) ^ (~e & g)) +
      (ROUND_CONSTANTS[round] as number) +
      (words[round] as number);
    const more = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + sum) | 0, c, b, a, (sum + more) | 0];
  }
  for (const [index, value] of [a, b, c, d, e, f, g, h].entries()) (state[index] as number) += value;
}

type Eight = [number, number, number, number, number, number, number, number];

function rotated(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

/** Computes the constants of SHA-256: the first fractional bits of the cube roots and square roots of the first primes. */
function constants(): { readonly roots: Uint32Array; readonly state: Uint32Array } {
  const primes: number[] = [];
  for (let number = 2; primes.length < ROUNDS; number++) {
    if (primes.every((prime) => number % prime !== 0)) primes.push(number);
  }
  const fraction = (root: number) => (root % 1) * 2 ** 32;
  return {
    roots: Uint32Array.from(primes, (prime) => fraction(Math.cbrt(prime))),
    state: Uint32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime))),
  };
}
