import { InvalidInputError, type JsonValue } from '@x/core';

const FENCED = /^```[a-z]*\s*\n(.*)\n\s*```$/is;

/**
 * The JSON of an answer, also of one in a Markdown fence.
 *
 * @throws {InvalidInputError} when it is no JSON.
 */
export function parseAnswer(text: string): JsonValue {
  const trimmed = text.trim();
  const json = FENCED.exec(trimmed)?.[1] ?? trimmed;
  try {
    return JSON.parse(json) as JsonValue;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new InvalidInputError('answer', [{ path: '', message: `it is not JSON: ${reason}` }], { cause });
  }
}
