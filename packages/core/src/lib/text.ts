/** Answers the first `length` UTF-16 units at most, never ending inside a surrogate pair. */
export function headOf(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = splitsPair(text, length) ? length - 1 : length;
  return text.slice(0, Math.max(0, end));
}

/** Answers the last `length` UTF-16 units at most, never beginning inside a surrogate pair. */
export function tailOf(text: string, length: number): string {
  if (text.length <= length) return text;
  const start = text.length - length;
  return text.slice(splitsPair(text, start) ? start + 1 : start);
}

function splitsPair(text: string, index: number): boolean {
  return isHigh(text.charCodeAt(index - 1)) && isLow(text.charCodeAt(index));
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** Returns the message of an error, or the text of any other thrown value. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
