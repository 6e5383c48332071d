import { estimateCounter, type Message, type Workspace } from '@x/core';
import { readLogFrom } from '../read-log-file.js';
import { renderMessage } from './flush-prompt.js';
import type { FlushOffset } from './flush-state.js';

/** Messages of a session that have not been flushed yet. */
export interface Batch {
  /** Those that say something: summaries, injected messages and system prompts are left out. */
  readonly messages: readonly Message[];
  /** Where the flush stands behind them. */
  readonly offset: FlushOffset;
  /** Whether the log goes on. */
  readonly more: boolean;
}

/**
 * The next messages of a log behind an offset, as many as fit into `maxTokens`, one at least; `undefined` when there are
 * none. Costs what was added since.
 */
export async function nextBatch(
  workspace: Workspace,
  log: string,
  after: FlushOffset | undefined,
  maxTokens: number,
): Promise<Batch | undefined> {
  const messages: Message[] = [];
  const seen = new Set<string>();
  let offset: FlushOffset | undefined;
  let tokens = 0;
  const from = after === undefined ? 0 : await resume(workspace, log, after);
  for await (const { message, start, end } of readLogFrom(workspace, log, from)) {
    if (message === undefined) continue;
    const text = isSpoken(message) && !seen.has(message.id) ? renderMessage(message) : '';
    const cost = text === '' ? 0 : estimateCounter.count(text);
    if (messages.length > 0 && tokens + cost > maxTokens && offset !== undefined) {
      return { messages, offset, more: true };
    }
    seen.add(message.id);
    if (text !== '') messages.push(message);
    tokens += cost;
    offset = { messageId: message.id, start, end };
  }
  return offset === undefined ? undefined : { messages, offset, more: false };
}

function isSpoken(message: Message): boolean {
  return message.kind === undefined && message.role !== 'system';
}

/** Where to read on: right behind the message, wherever it is now; at the beginning of a log that does not have it. */
async function resume(
  workspace: Workspace,
  log: string,
  { messageId, start, end }: FlushOffset,
): Promise<number> {
  for await (const line of readLogFrom(workspace, log, start)) {
    if (line.end === end && line.message?.id === messageId) return end;
    break;
  }
  for await (const line of readLogFrom(workspace, log, 0)) {
    if (line.message?.id === messageId) return line.end;
  }
  return 0;
}
