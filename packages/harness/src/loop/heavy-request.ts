import { ContextOverflowError, type Message, ModelError } from '@x/core';
import { errorText } from '@x/core/internal';
import { blockBytes, classifyModelError, type ModelErrorKind, messageBytes } from '@x/core/messages';

/** Request size in bytes from which the size may be why the request failed. */
const HEAVY_BYTES = 4_000_000;
/** Failures that are unrelated to the size of a request. */
const OTHER_CAUSES: ReadonlySet<ModelErrorKind> = new Set(['rate_limit', 'quota', 'auth', 'unreadable']);

/** Describes the size of a request: `33.2 MB, 32.9 MB of it in 53 files`. Returns `undefined` for a small one. */
export function weightOf(messages: readonly Message[]): string | undefined {
  const bytes = messageBytes(messages);
  if (bytes < HEAVY_BYTES) return undefined;
  const files = messages
    .flatMap(({ content }) =>
      content.flatMap((block) => (block.type === 'tool_result' ? block.output : block)),
    )
    .filter(({ type }) => type === 'file');
  const inFiles = files.reduce((sum, file) => sum + blockBytes(file), 0);
  return `${megabytes(bytes)}, ${megabytes(inFiles)} of it in ${files.length} files`;
}

/** Adds the size of a heavy request to its error if the size may be the cause. Otherwise returns the error unchanged. */
export function withWeight(error: unknown, modelId: string, messages: readonly Message[]): unknown {
  const weight = weightOf(messages);
  if (weight === undefined || OTHER_CAUSES.has(classifyModelError(error))) return error;
  const said = errorText(error);
  const message =
    `${said}${/[.!?]$/.test(said) ? '' : '.'} The size of the request is ${weight}. Providers reject large requests, and connections may break. ` +
    'Send smaller files, or lower trigger.bytes so that compaction removes older files sooner.';
  if (ContextOverflowError.isInstance(error)) {
    const { inputTokens, contextWindow } = error;
    return new ContextOverflowError(message, { cause: error, modelId, inputTokens, contextWindow });
  }
  const known = ModelError.isInstance(error) ? error : undefined;
  return new ModelError(message, {
    modelId,
    retryable: known?.retryable ?? false,
    status: known?.status,
    retryAfterMs: known?.retryAfterMs,
    cause: error,
  });
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
