import { estimateCounter, type Message, type Workspace } from '@x/core';
import { readLogLines } from '@x/core/node';
import type { FlushOffset } from '../facts/memory-state.js';
import { renderMessage } from './flush-prompt.js';

/** Messages of a session that have not been flushed and have text, and the offset where they end. */
export interface Batch {
  /** Without summaries, injected messages and system prompts. */
  readonly messages: readonly Message[];
  readonly offset: FlushOffset;
}

/** Reads the next messages of a log after an offset: as many as fit into `maxTokens`, and at least one. */
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
  for await (const { message, start, end } of readLogLines(workspace, log, from)) {
    if (message === undefined) continue;
    const isSpoken = message.kind === undefined && message.role !== 'system' && !seen.has(message.id);
    const text = isSpoken ? renderMessage(message) : '';
    const cost = text === '' ? 0 : estimateCounter.count(text);
    if (messages.length > 0 && tokens + cost > maxTokens) break;
    seen.add(message.id);
    if (text !== '') messages.push(message);
    tokens += cost;
    offset = { messageId: message.id, start, end };
  }
  return offset && { messages, offset };
}

/** Finds where to read on: after the message, even if its position changed, or at the beginning if the log lacks it. */
async function resume(
  workspace: Workspace,
  log: string,
  { messageId, start, end }: FlushOffset,
): Promise<number> {
  for await (const line of readLogLines(workspace, log, start)) {
    if (line.end === end && line.message?.id === messageId) return end;
    break;
  }
  for await (const line of readLogLines(workspace, log, 0)) {
    if (line.message?.id === messageId) return line.end;
  }
  return 0;
}
