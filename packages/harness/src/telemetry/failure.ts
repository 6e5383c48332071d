import { type Attributes, type Span, SpanStatusCode } from '@opentelemetry/api';
import { XError } from '@x/core';
import { ATTRIBUTE } from './conventions.js';

/** The class of an error: its stable code, or its name. Never its message, which may quote anything. */
function errorType(error: unknown): string {
  if (XError.isInstance(error)) return error.code;
  return error instanceof Error ? error.name : '_OTHER';
}

export function errorAttributes(error: unknown): Attributes {
  return { [ATTRIBUTE.errorType]: errorType(error) };
}

/** Marks a span as failed. An interruption is an end like others. */
export function markFailed(span: Span, error: unknown, showsContent: boolean): void {
  span.setAttributes(errorAttributes(error));
  if (error instanceof Error && error.name === 'AbortError') return;
  const message = showsContent && error instanceof Error ? error.message : undefined;
  span.setStatus({ code: SpanStatusCode.ERROR, ...(message === undefined ? {} : { message }) });
}
