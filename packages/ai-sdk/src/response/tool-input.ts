import type { JsonValue } from '@x/core';
import { toJson } from '../to-json.js';

/**
 * A tool call's input. What is no JSON stays the text that the model wrote: the tool's schema refuses it, so the model
 * is told, and nothing is lost.
 */
export function parseToolInput(input: unknown): JsonValue {
  if (typeof input !== 'string') return toJson(input);
  if (input.trim() === '') return {};
  try {
    return JSON.parse(input) as JsonValue;
  } catch {
    return input;
  }
}
