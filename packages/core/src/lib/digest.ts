import { atOnce, type Work } from './in-pieces.js';

/** Computes the SHA-256 of a text's UTF-8 bytes as 64 hexadecimal digits; synchronous in every runtime. */
export function digest(text: string): string {
  return atOnce(digestWork(text));
}

/** The same as work that may be done in pieces. */
export function* digestWork(text: string): Work<string> {
  // To encode 20 MB takes as long as a hundred pieces of the rest, and cannot be interrupted.
  yield;
  const bytes = new TextEncoder().encode(text);
  yield;
  const state = yield* sha256(bytes);
  return Array.from(state, (word) => word.toString(16).padStart(8, '0')).join('');
}

/** Makes random hexadecimal digits, two for each byte: for names that must not meet. */
export function randomHex(bytes: number): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  return Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const BLOCK_BYTES = 64;
/** Bytes between two moments at which the work may rest. */
const PIECE_BYTES = 1 << 18;
const ROUNDS = 64;
const { roots: ROUND_CONSTANTS, state: FIRST_STATE } = constants();

/** FIPS 180-4, section 6.2: the web's own SHA-256 answers in a promise, and what is written at once cannot wait. */
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

/** Takes a block, in the first 16 words, into the state. */
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

/** The first bits of the fractional parts of the cube roots, and of the square roots, of the first primes. */
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
