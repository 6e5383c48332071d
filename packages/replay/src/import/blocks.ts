import type { FileBlock, JsonValue, TextBlock, ToolOutputBlock } from '@x/core';

/** A text as blocks; none for an empty one. */
export function text(value: string | null | undefined): readonly TextBlock[] {
  return value ? [{ type: 'text', text: value }] : [];
}

/** An image or another file whose bytes stand in the log. */
export function inlineFile(mediaType: string, data: string): FileBlock {
  return { type: 'file', mediaType, source: { type: 'base64', data } };
}

/** A file by address; `data:` addresses hold the bytes themselves. */
export function fileAt(url: string, mediaType = 'application/octet-stream'): FileBlock {
  const inline = /^data:([^;,]+);base64,(.*)$/s.exec(url);
  if (inline?.[1] !== undefined && inline[2] !== undefined) return inlineFile(inline[1], inline[2]);
  return { type: 'file', mediaType, source: { type: 'url', url } };
}

/** The arguments of a call: formats write them as JSON text, or as they are. */
export function parseArguments(value: unknown): JsonValue {
  if (typeof value !== 'string') return asJson(value ?? {});
  try {
    return JSON.parse(value) as JsonValue;
  } catch {
    return value;
  }
}

/** Any value as JSON, without what JSON cannot say. */
export function asJson(value: unknown): JsonValue {
  return (JSON.parse(JSON.stringify(value) ?? 'null') ?? null) as JsonValue;
}

/** A tool's answer as a text: itself, or as JSON. */
export function outputText(value: unknown): readonly ToolOutputBlock[] {
  return [{ type: 'text', text: typeof value === 'string' ? value : (JSON.stringify(value) ?? '') }];
}
