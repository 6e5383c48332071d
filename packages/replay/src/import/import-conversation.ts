import { isObject } from '@x/core/internal';
import type { RecordedConversation } from '../conversation.js';
import { ReplayError } from '../replay-error.js';
import { claudeCode, droid } from './claude-code.js';
import { codex } from './codex.js';
import { ConversationBuilder } from './conversation-builder.js';
import { copilotCli } from './copilot-cli.js';
import { geminiCli, geminiStream } from './gemini-cli.js';
import type { Importer, JsonAround } from './importer.js';
import { langchainMessages } from './langchain.js';
import { opencode } from './opencode.js';
import { pi } from './pi.js';
import {
  aiSdkModelMessages,
  anthropicMessages,
  geminiContents,
  openaiChat,
  openaiResponses,
} from './provider-messages.js';
import { sessionLog } from './session-log.js';
import { aiSdkUiMessages } from './ui-messages.js';

/** All importers, those with the most specific entries first. The first one that recognizes any entry reads all entries. */
const importers: readonly Importer[] = [
  codex,
  claudeCode,
  droid,
  pi,
  geminiCli,
  geminiStream,
  opencode,
  copilotCli,
  sessionLog,
  openaiResponses,
  aiSdkUiMessages,
  langchainMessages,
  geminiContents,
  aiSdkModelMessages,
  anthropicMessages,
  openaiChat,
];

/** The formats that {@link importConversation} reads. */
export const formats: readonly { readonly format: string; readonly describes: string }[] = importers.map(
  ({ format, describes }) => ({ format, describes }),
);

/** Keys of the message list in API payloads and exports. `WRAPPERS` are the keys of objects that contain it. */
const LISTS = ['messages', 'context', 'loglines', 'contents', 'input'];
const WRAPPERS = ['values', 'channel_values', 'checkpoint', 'state'];

/**
 * Reads a recorded conversation in any known format.
 *
 * @example
 * ```ts
 * const conversation = importConversation(await readFile('session.jsonl', 'utf8'));
 * ```
 * @param source The text of a file: JSON, or JSON lines. Invalid lines, for example a truncated last line, are counted in `unread`.
 * @param options `format` names the format if it cannot be detected; see {@link formats}.
 * @throws {ReplayError} `unknown_format` if no importer recognizes an entry; `empty_conversation` if the log has no message.
 */
export function importConversation(
  source: string,
  options: { readonly format?: string } = {},
): RecordedConversation {
  const { entries, invalid, repeated, around = {} } = parse(source);
  const importer = importerFor(source, entries, options);
  const builder = new ConversationBuilder(importer.format);
  for (let count = 0; count < invalid; count++) builder.unread('line that is not valid JSON');
  for (let count = 0; count < repeated; count++) builder.unread('duplicate row');
  importer.read(entries, builder, around);
  const conversation = builder.build();
  if (conversation.messages.length > 0) return conversation;
  throw new ReplayError(
    'empty_conversation',
    `Read as ${importer.format}, the recording has no messages. Check the file and the format.`,
  );
}

/** @throws {ReplayError} `unknown_format`. */
export function importerFor(
  source: string,
  entries: readonly unknown[],
  options: { readonly format?: string },
): Importer {
  const importer = importers.find(({ format, recognizes }) =>
    options.format === undefined ? entries.some(recognizes) : format === options.format,
  );
  if (importer === undefined) {
    const known = formats.map(({ format, describes }) => `  ${format}: ${describes}`).join('\n');
    const what =
      options.format === undefined
        ? (reasonUnreadable(source) ?? 'The log has no entry of a known format.')
        : `The format "${options.format}" is unknown.`;
    throw new ReplayError('unknown_format', `${what}\nKnown formats:\n${known}`);
  }
  return importer;
}

/** Explains why a text cannot be a log. */
function reasonUnreadable(source: string): string | undefined {
  if (source.trim() === '') return 'The log is empty.';
  // The first two bytes of gzip. The second is not valid UTF-8, so it was decoded as U+FFFD.
  const isGzip = source.startsWith('\u001f\ufffd');
  return isGzip ? 'The log is compressed. Unpack it with gunzip first.' : undefined;
}

interface Parsed {
  readonly entries: readonly unknown[];
  /** Number of lines that are not valid JSON. */
  readonly invalid: number;
  /** Number of lines that equal an earlier line and have a timestamp. Without a timestamp, two equal lines may be two messages. */
  readonly repeated: number;
  readonly around?: JsonAround;
}

export function parse(source: string): Parsed {
  const whole = parseJson(source);
  const inner = Array.isArray(whole) ? { entries: whole } : listIn(whole);
  if (inner !== undefined) return { invalid: 0, repeated: 0, ...inner };
  const lines = source.split(/\r?\n/).filter((line) => line.trim() !== '');
  const seen = new Set<string>();
  const isNew = (line: string) => !/"timestamp": ?"/.test(line) || seen.size < seen.add(line).size;
  const different = lines.filter(isNew);
  const entries = different.map(parseJson);
  const read = entries.filter((entry) => entry !== undefined);
  return { entries: read, invalid: entries.length - read.length, repeated: lines.length - different.length };
}

function listIn(value: unknown): Pick<Parsed, 'entries' | 'around'> | undefined {
  if (!isObject(value)) return undefined;
  for (const name of LISTS) {
    const { [name]: list, output, ...around } = value;
    const answer = name === 'input' && Array.isArray(output) ? output : [];
    if (Array.isArray(list)) return { entries: [...list, ...answer], around };
    // The Responses API also takes a text as its input.
    if (typeof list === 'string' && answer.length > 0)
      return { entries: [{ role: 'user', content: list }, ...answer], around };
  }
  return WRAPPERS.map((name) => listIn(value[name])).find((found) => found !== undefined);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
}
