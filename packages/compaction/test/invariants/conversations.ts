import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import {
  assistantMessage,
  type ContentBlock,
  type JsonValue,
  type Message,
  toolResultMessage,
  userMessage,
} from '@x/core';
import fc from 'fast-check';
import { conversation } from '../arbitraries.js';

/**
 * `X_RECORDED=<folder> X_RUNS=10 npx vitest run test/invariants` tries the invariants on parts of recorded conversations in place
 * of generated ones, ten times as often. The folder, or `trajectories` in it, holds files `*.json.gz`:
 * `{messages: [{role, content, toolCalls?: [{id, name, arguments}], toolCallId?, toolName?}]}`.
 */
const { X_RECORDED: folder, X_RUNS: times = '1' } = process.env;

/** How often a property is tried. */
export const runs = (usual: number): { readonly numRuns: number } => ({ numRuns: usual * Number(times) });

/** Messages in the part of a recording that is tried at a time: enough for several batches of calls. */
const LONGEST_PART = 80;

interface Recorded {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string;
  readonly toolCalls?: readonly {
    readonly id: string;
    readonly name: string;
    readonly arguments: JsonValue;
  }[];
  readonly toolCallId?: string;
  readonly toolName?: string;
}

/** Parts of recorded conversations where there are any, else generated ones. Every id is there once. */
export const conversations: fc.Arbitrary<readonly Message[]> = folder ? recordedParts(folder) : conversation;

/** So long that something must go, whatever the window of the tests. */
export const longConversations: fc.Arbitrary<readonly Message[]> = conversations.filter(
  (messages) => messages.length >= 12 && JSON.stringify(messages).length > 8_000,
);

function recordedParts(path: string): fc.Arbitrary<readonly Message[]> {
  const inside = join(path, 'trajectories');
  const directory = existsSync(inside) ? inside : path;
  const files = readdirSync(directory).filter((file) => file.endsWith('.json.gz'));
  const read = new Map<string, readonly Message[]>();
  let serial = 0;
  return fc
    .record({
      file: fc.constantFrom(...files),
      start: fc.nat(),
      length: fc.integer({ min: 4, max: LONGEST_PART }),
    })
    .map(({ file, start, length }) => {
      const all = read.get(file) ?? messagesIn(join(directory, file));
      read.set(file, all);
      const from = start % all.length;
      const part = all.slice(from, from + length);
      const first = part.findIndex((message) => message.role !== 'tool');
      // Parts of one file may come together in a chain: every message has an id of its own.
      return part.slice(Math.max(0, first)).map((message) => ({ ...message, id: `r${serial++}` }));
    })
    .filter((part) => part.length > 1 && part.every((message) => message.role !== 'tool' || part.length > 2));
}

function messagesIn(path: string): readonly Message[] {
  const { messages } = JSON.parse(gunzipSync(readFileSync(path)).toString('utf8')) as {
    messages: Recorded[];
  };
  return messages.map(({ role, content, toolCalls = [], toolCallId = '', toolName = 'tool' }) => {
    if (role === 'tool') return toolResultMessage({ id: toolCallId, name: toolName }, content);
    if (role !== 'assistant') return userMessage(content);
    const text: ContentBlock[] = content === '' ? [] : [{ type: 'text', text: content }];
    return assistantMessage([
      ...text,
      ...toolCalls.map(
        (call): ContentBlock => ({ type: 'tool_use', id: call.id, name: call.name, input: call.arguments }),
      ),
    ]);
  });
}
