import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { assistantMessage, type ContentBlock, type Message, toolResultMessage, userMessage } from '@x/core';
import { jsonValueSchema, parseWith } from '@x/core/internal';
import type { MessageOptions } from '@x/core/messages';
import type { LongRangeReference } from '@x/replay/internal';
import * as z from 'zod';
import { stableId } from './stable-id.js';

const messageSchema = z.object({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string(),
  toolCalls: z.array(z.object({ id: z.string(), name: z.string(), arguments: jsonValueSchema })).default([]),
  toolCallId: z.string().optional(),
  toolName: z.string().optional(),
});
const trajectorySchema = z.object({ messages: z.array(messageSchema) });
const probesSchema = z.object({
  probes: z.array(
    z.object({ token: z.string(), callIndex: z.int(), lastIndex: z.int(), gapTokens: z.number() }),
  ),
});
const manifestSchema = z.array(z.object({ file: z.string(), domain: z.string(), source: z.string() }));

/** A recorded conversation with its probes. */
export interface Recording {
  readonly name: string;
  readonly domain: string;
  readonly source: string;
  /** The system prompt. The replay sends it with every request. */
  readonly system: string;
  readonly messages: readonly Message[];
  /** Names in inputs of tool calls that the conversation mentioned long before. */
  readonly probes: readonly LongRangeReference[];
}

type RecordedMessage = z.output<typeof messageSchema>;

/**
 * Reads recorded conversations from a folder with `manifest.json`, `trajectories/*.json.gz` and `probes/*.json.gz`. A file without probes
 * only counts for cost.
 *
 * @param half Only the projects for fitting settings, or only those for reporting. The projects of each domain, sorted by name, belong
 * alternately to one half and the other.
 * @throws {InvalidInputError} for an invalid file.
 */
export function readRecordings(
  folder: string,
  domains: readonly string[] = [],
  half?: 'fit' | 'report',
): readonly Recording[] {
  const manifest = parseWith(manifestSchema, readPacked(join(folder, 'manifest.json')), 'manifest.json');
  const probed = new Set(readdirSync(join(folder, 'probes')));
  const fitting = projectsToFit(manifest);
  return manifest
    .filter(({ domain }) => domains.length === 0 || domains.includes(domain))
    .filter(
      ({ domain, source }) => half === undefined || fitting.has(`${domain} ${source}`) === (half === 'fit'),
    )
    .map(({ file, domain, source }) => {
      const packed = `${file}.gz`;
      const messages = readTrajectory(join(folder, 'trajectories', packed));
      const { probes } = probed.has(packed)
        ? parseWith(probesSchema, readPacked(join(folder, 'probes', packed)), `probes/${packed}`)
        : { probes: [] };
      const [first] = messages;
      const system = first?.role === 'system' ? first.content : '';
      const offset = system === '' ? 0 : 1;
      return {
        name: file.replace(/\.json$/, ''),
        domain,
        source,
        system,
        messages: messages
          .slice(offset)
          .map((message, index) => toMessage(message, stableId(`${file} ${index}`))),
        probes: probes.map((probe) => ({
          ...probe,
          callIndex: probe.callIndex - offset,
          lastIndex: probe.lastIndex - offset,
        })),
      };
    });
}

/** Returns every second project of each domain. */
function projectsToFit(manifest: z.output<typeof manifestSchema>): ReadonlySet<string> {
  const projects = new Map<string, Set<string>>();
  for (const { domain, source } of manifest) {
    const known = projects.get(domain);
    if (known) known.add(source);
    else projects.set(domain, new Set([source]));
  }
  return new Set(
    [...projects].flatMap(([domain, sources]) =>
      [...sources].sort().flatMap((source, index) => (index % 2 === 0 ? [`${domain} ${source}`] : [])),
    ),
  );
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
