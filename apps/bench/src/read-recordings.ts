import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { assistantMessage, type ContentBlock, type Message, toolResultMessage, userMessage } from '@x/core';
import { jsonValueSchema, parseWith } from '@x/core/internal';
import type { MessageOptions } from '@x/core/messages';
import type { RecordedConversation } from '@x/replay';
import * as z from 'zod';

const messageSchema = z.object({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string(),
  toolCalls: z.array(z.object({ id: z.string(), name: z.string(), arguments: jsonValueSchema })).default([]),
  toolCallId: z.string().optional(),
  toolName: z.string().optional(),
});
const trajectorySchema = z.object({ messages: z.array(messageSchema) });
const manifestSchema = z.array(z.object({ file: z.string(), domain: z.string() }));

/** A recorded conversation, and where it comes from. */
export interface Recording {
  readonly domain: string;
  readonly conversation: RecordedConversation;
}

type RecordedMessage = z.output<typeof messageSchema>;

/**
 * Reads recorded conversations from a folder with `manifest.json` and `trajectories/*.json.gz`.
 *
 * @throws {InvalidInputError} for an invalid file.
 */
export function readRecordings(folder: string): readonly Recording[] {
  const manifest = parseWith(manifestSchema, readPacked(join(folder, 'manifest.json')), 'manifest.json');
  return manifest.map(({ file, domain }) => {
    const messages = readTrajectory(join(folder, 'trajectories', `${file}.gz`));
    const [first] = messages;
    const system = first?.role === 'system' ? first.content : '';
    const conversation: RecordedConversation = {
      format: 'trajectory',
      id: file.replace(/\.json$/, ''),
      system,
      messages: messages
        .slice(system === '' ? 0 : 1)
        .map((message, index) => toMessage(message, stableId(`${file} ${index}`))),
      usage: [],
      compactions: [],
      unread: {},
    };
    return { domain, conversation };
  });
}

/** Returns an id that is the same in every run. It is as long as the random ids of a live agent, because stubs contain ids. */
function stableId(seed: string): string {
  const digits = createHash('sha256').update(seed).digest('hex');
  return digits.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** @throws {InvalidInputError} for an invalid file. */
function readTrajectory(path: string): readonly RecordedMessage[] {
  return parseWith(trajectorySchema, readPacked(path), path.split('/').slice(-2).join('/')).messages;
}

function readPacked(path: string): unknown {
  const bytes = readFileSync(path);
  return JSON.parse((path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8'));
}

function toMessage({ role, content, toolCalls, toolCallId, toolName }: RecordedMessage, id: string): Message {
  const options: MessageOptions = { id, createdAt: '2026-01-01T00:00:00.000Z' };
  if (role === 'tool') {
    return toolResultMessage({ id: toolCallId ?? '', name: toolName ?? 'tool' }, content, options);
  }
  if (role !== 'assistant') return userMessage(content, options);
  const text: ContentBlock[] = content === '' ? [] : [{ type: 'text', text: content }];
  const calls = toolCalls.map(
    ({ id, name, arguments: input }): ContentBlock => ({ type: 'tool_use', id, name, input }),
  );
  return assistantMessage([...text, ...calls], options);
}
