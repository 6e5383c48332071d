import { digest } from './digest.js';

/** Bytes that one encoded segment may take: under the 255 of common file systems, with room for a suffix. */
const MAX_SEGMENT = 200;
/** Two characters of mark and 64 of hash. */
const HASH_LENGTH = 66;
/** Names that Windows reserves with any extension. */
const RESERVED = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:$|\.)/;

/**
 * Encodes any string injectively into `[a-z0-9_.%-]`, so that two ids never meet: upper case is escaped (file systems
 * that fold case), so is everything beyond ASCII by UTF-16 unit (file systems that normalize, lone surrogates), and a
 * leading dot (`.` and `..`). Decode with {@link decodeSegment}.
 */
export function encodeSegment(text: string): string {
  let encoded = '';
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    const plain =
      (unit >= 97 && unit <= 122) || // a–z
      (unit >= 48 && unit <= 57) || // 0–9
      unit === 45 || // -
      unit === 95 || // _
      (unit === 46 && index > 0 && index < text.length - 1); // . inside
    if (plain) encoded += text[index];
    else if (unit < 128) encoded += `%${unit.toString(16).padStart(2, '0')}`;
    else encoded += `%u${unit.toString(16).padStart(4, '0')}`;
  }
  // A reserved device name keeps its meaning in its first letter alone.
  if (RESERVED.test(encoded)) encoded = `%${encoded.charCodeAt(0).toString(16)}${encoded.slice(1)}`;
  return encoded;
}

/** The inverse of {@link encodeSegment}. */
export function decodeSegment(encoded: string): string {
  return encoded.replace(
    /%u([0-9a-f]{4})|%([0-9a-f]{2})/g,
    (_, unit: string | undefined, byte: string | undefined) =>
      String.fromCharCode(Number.parseInt(unit ?? byte ?? '', 16)),
  );
}

/**
 * {@link encodeSegment} for one name in a file system: what would be longer than a file name may be is cut and ended
 * with a SHA-256 of the whole, and an empty text has a name too, so keep the original where you need it back.
 */
export function fileSegment(text: string): string {
  const encoded = encodeSegment(text);
  if (encoded.length <= MAX_SEGMENT) return encoded || '%_';
  // `%_` appears in no plain encoding, so a cut name never meets a whole one. Hex: case must not matter.
  return `${encoded.slice(0, MAX_SEGMENT - HASH_LENGTH)}%_${digest(encoded)}`;
}
