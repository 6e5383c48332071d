import type { Message, ReasonScope } from '@x/core';
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

/** Warns of the size of a heavy request that failed, if the size may be the cause. */
export function warnOfWeight({ emit, model, state }: ReasonScope, error: unknown): void {
  const weight = weightOf(state.context);
  if (weight === undefined || OTHER_CAUSES.has(classifyModelError(error))) return;
  const message =
    `The request that failed has ${weight}. Providers reject large requests, and connections may break. Send smaller files, or lower ` +
    'trigger.bytes so that compaction removes older files sooner.';
  emit({ type: 'warning', source: model.id, message });
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
