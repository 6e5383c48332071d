import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

/** Computes the SHA-256 of a text's UTF-8 bytes as 64 hexadecimal digits; synchronous in every runtime. */
export function digest(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)));
}

/** Makes random hexadecimal digits, two for each byte: for names that must not meet. */
export function randomHex(bytes: number): string {
  return bytesToHex(crypto.getRandomValues(new Uint8Array(bytes)));
}
