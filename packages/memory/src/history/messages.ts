import type { FileBlock, Message, ToolOutputBlock } from '@x/core';
import { headOf, LINE_BREAK, TextScan, tailOf } from '@x/core/internal';
import { dateOf, dateTermsOf, dayOf } from '../index/dates.js';
import { memoryQuery } from '../index/query.js';
import { cut, excerpt, fitting, messageText } from '../message-text.js';
import type { LoggedSession } from '../session-logs.js';

const EXCERPT_CHARS = 300;

interface SearchOptions extends Readonly<Record<'limit' | 'offset' | 'maxOutputChars', number>> {
  readonly query: string;
  /** The id of the message that is being answered. It contains the words of the query, and the model already sees it. */
  readonly asked?: string | undefined;
  readonly signal: AbortSignal;
}

/** Searches the logs of sessions, and returns the best messages as text. */
export async function searchMessages(
  sessions: readonly LoggedSession[],
  { query, limit, offset, maxOutputChars, asked, signal }: SearchOptions,
): Promise<string> {
  const parsed = memoryQuery(query);
  if (parsed.terms.length === 0) return 'The query contains no searchable word.';
  const lines = new TextScan<string>(parsed);
  // Search the most recent session last, so that its hits come first among equal ones.
  for (const session of sessions.toReversed()) {
    signal.throwIfAborted();
    for await (const { number, message } of numbered(session.read())) {
      if (message.id === asked) continue;
      const day = dayOf(message.createdAt) ?? null;
      const place = `session ${JSON.stringify(session.id)} #${number}${day === null ? '' : `, ${dateOf(day)}`}`;
      // Skip text that repeats other logs. Otherwise a search would find earlier searches.
      const text = messageText(message, { echoes: false });
      lines.add({ file: session.location, number, day, text, extra: dateTermsOf(day), item: place });
    }
  }
  const best = lines.best().slice(offset);
  const page = best
    .slice(0, limit)
    .map(({ item, text }) => `${item}\n${excerpt(text, parsed.terms, EXCERPT_CHARS)}`);
  const texts = fitting(page, maxOutputChars, '\n\n');
  if (texts.length === 0) return 'Nothing found.';
  const shown = offset + texts.length;
  const more = texts.length < best.length ? ` More: the same query with offset ${shown}.` : '';
  return `${offset + 1} to ${shown}, the best first.${more}\n\n${texts.join('\n\n')}`;
}

/** A message and its number in the log, from 1. */
type NumberedMessage = { readonly number: number; readonly message: Message };

export async function* numbered(messages: AsyncIterable<Message>): AsyncIterable<NumberedMessage> {
  let number = 0;
  for await (const message of messages) yield { number: ++number, message };
}

function heading({ number, message }: NumberedMessage): string {
  const kind = message.kind === undefined ? '' : `, ${message.kind}`;
  return `#${number} ${message.role}${kind}, ${message.createdAt}`;
}

/** Returns the message as text. None of its lines can look like the heading of another message. */
function bodyText({ message }: NumberedMessage): string {
  return messageText(message).replaceAll(HEADING, '| $&');
}

/** Matches lines that look like a {@link heading}, after any line break that a reader may recognize. */
const HEADING = new RegExp(`(?<=^|${LINE_BREAK.source})[ \\t]*#\\d+ (?:system|user|assistant|tool)\\b`, 'g');

/** Renders the newest messages that fit into a result, oldest first and at least one. Also returns how many were omitted. */
export function renderNewest(
  messages: readonly NumberedMessage[],
  { maxMessageChars, maxOutputChars }: Record<'maxMessageChars' | 'maxOutputChars', number>,
) {
  const rendered = messages.toReversed().map((entry) => {
    const advice = (from: number) => `: number ${entry.number} with offset ${from}`;
    return `${heading(entry)}\n${cut(bodyText(entry), maxMessageChars, advice)}`;
  });
  const shown = fitting(rendered, maxOutputChars, '\n\n');
  return { text: shown.reverse().join('\n\n'), left: messages.length - shown.length };
}

/** Renders one message as a tool result, from `offset` (UTF-16 units) on, and says how to read on. Files come first. */
export function wholeMessage(
  entry: NumberedMessage,
  offset: number,
  maxOutputChars: number,
): readonly ToolOutputBlock[] {
  const text = bodyText(entry);
  const from = Math.min(offset, text.length);
  const part = headOf(tailOf(text, text.length - from), maxOutputChars);
  const end = Math.min(text.length, from + part.length);
  const place = offset === 0 && end === text.length ? '' : `, characters ${from} to ${end} of ${text.length}`;
  const more = end < text.length ? `\n\nMore: the same with offset ${end}.` : '';
  const answer: ToolOutputBlock = { type: 'text', text: `${heading(entry)}${place}\n${part}${more}` };
  return offset === 0 ? [answer, ...filesOf(entry.message)] : [answer];
}

function filesOf({ content }: Message): readonly FileBlock[] {
  return content.flatMap((block) => {
    if (block.type === 'file') return [block];
    return block.type === 'tool_result' ? block.output.filter((part) => part.type === 'file') : [];
  });
}
