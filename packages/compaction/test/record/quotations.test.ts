import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import {
  assistantMessage,
  type JsonValue,
  type Message,
  textOf,
  toolResultMessage,
  userMessage,
} from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCompactor } from '../../src/index.js';
import type { Entry, Quote } from '../../src/record/entry.js';
import { isCall } from '../../src/record/entry.js';
import { excerptsOf } from '../../src/record/excerpts.js';
import { readable } from '../../src/record/readable.js';
import { numbersOf } from '../../src/summary/numbers.js';
import { readSummaries } from '../../src/summary/summary-message.js';

/** The words of a text: line ends, marks of Markdown and JSON, and lines without words aside. */
const wordsOf = (text: string) => (text.match(/[\p{L}\p{N}_]+/gu) ?? []).join(' ');
const strings = (value: JsonValue): readonly string[] => {
  if (typeof value === 'string') return [value, readable(value)];
  if (typeof value !== 'object' || value === null) return [String(value)];
  return [
    readable(JSON.stringify(value)),
    ...Object.values(value).flatMap((inner) => strings(inner as JsonValue)),
  ];
};
/** The texts of a message as the record quotes them. */
const sourcesOf = (message: Message): readonly string[] =>
  message.content.flatMap((block) => {
    if (block.type === 'text') return [block.text, readable(block.text)];
    if (block.type === 'tool_use') return strings(block.input);
    if (block.type !== 'tool_result') return [];
    const text = textOf([block]);
    return [text, readable(text)];
  });

/** The quotations of a record: excerpts with no mark of a gap between them are one. */
function quotationsIn(record: readonly Entry[]): readonly { readonly at: number; readonly text: string }[] {
  const found: { at: number; text: string }[] = [];
  let before: Quote | undefined;
  for (const entry of record) {
    if (entry.kind === 'said' || entry.kind === 'found' || entry.kind === 'wrote') {
      const last = found.at(-1);
      const goesOn =
        before?.kind === entry.kind && before.at === entry.at && (before.part ?? 0) + 1 === entry.part;
      if (last && goesOn && !entry.opens) last.text += `\n${entry.text}`;
      else found.push({ at: entry.at, text: entry.text });
      before = entry;
      continue;
    }
    before = undefined;
    if (isCall(entry))
      for (const { text } of entry.args) if (text !== '(list)') found.push({ at: entry.at, text });
  }
  return found.flatMap(({ at, text }) =>
    text
      .replaceAll(/ \(×\d+\)$/gm, '')
      .split('…')
      .map((piece) => ({ at, text: wordsOf(piece) }))
      .filter((piece) => piece.text !== ''),
  );
}

/** Compacts a conversation as it grows, and checks what each record quotes. */
async function checkLog(log: readonly Message[], contextWindow: number): Promise<number> {
  const compactor = createCompactor({ contextWindow, model: null });
  const words = new Map<number, readonly string[]>();
  const numbers = numbersOf(log);
  for (const message of log) words.set(numbers.get(message) as number, sourcesOf(message).map(wordsOf));
  let view: readonly Message[] = [];
  let checked = 0;
  for (const [index, message] of log.entries()) {
    view = [...view, message];
    if (message.role === 'assistant' || log[index + 1]?.role === 'tool') continue;
    // A result that did not fit the window is quoted as it was cut.
    for (const [seen, at] of numbersOf(view)) {
      if (seen.metadata) words.set(at, [...(words.get(at) ?? []), ...sourcesOf(seen).map(wordsOf)]);
    }
    const outcome = await compactor.compact(view, { reason: 'proactive_budget' });
    view = outcome.messages;
    if (outcome.status !== 'applied') continue;
    for (const { at, text } of quotationsIn(
      readSummaries(view.filter(({ kind }) => kind === 'summary')).record,
    )) {
      checked++;
      const isThere = words.get(at)?.some((source) => source.includes(text));
      expect(isThere, `r${at}: ${text}`).toBe(true);
    }
  }
  return checked;
}

const word = fc.constantFrom(
  'order',
  'refund',
  'lock',
  'queue',
  'W1042',
  'src/total.ts',
  'waits',
  'never',
  'because',
  'Änderung',
  '8023',
);
const sentence = fc.array(word, { minLength: 4, maxLength: 14 }).map((words) => `${words.join(' ')}.`);
const paragraph = fc.array(sentence, { minLength: 1, maxLength: 9 }).map((sentences) => sentences.join(' '));
const rows = fc
  .array(fc.record({ id: word, status: word, note: sentence }), { maxLength: 12 })
  .map((list) => JSON.stringify({ rows: list }));
const output = fc.oneof(
  fc.array(paragraph, { maxLength: 6 }).map((paragraphs) => paragraphs.join('\n\n')),
  rows,
  fc.tuple(paragraph, sentence).map(([text, note]) => `${text}\n<reminder>\n${note} ${note}\n</reminder>`),
  fc
    .tuple(fc.nat(60), sentence, fc.nat(60))
    .map(([one, line, other]) => `${'ok 200\n'.repeat(one)}${line}\n${'ok 200\n'.repeat(other)}`),
);
const step = fc.record({
  say: paragraph,
  input: fc.record({ path: word, old_text: paragraph, new_text: paragraph }),
  output,
  fails: fc.boolean(),
});

const OLD = 'const limit = readLimit(order);\n'.repeat(8);
const NEW = 'const cap = capOf(customer);\n'.repeat(8);

describe('the quotations of a record', () => {
  it('stand in the log word for word, and what is left out between them is marked', async () => {
    let checked = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 60 }), async (steps) => {
        const log: Message[] = [userMessage('Which orders wait for a refund?')];
        for (const [index, { say, input, output, fails }] of steps.entries()) {
          const use = { type: 'tool_use', id: `c${index}`, name: 'edit_file', input } as const;
          log.push(
            assistantMessage([{ type: 'text', text: say }, use]),
            toolResultMessage(use, output, { isError: fails }),
          );
        }
        checked += await checkLog(log, 6_000);
      }),
      { numRuns: 8 },
    );
    expect(checked).toBeGreaterThan(1_000);
  });

  it.each<[string, JsonValue]>([
    ['one change', { path: 'a.ts', oldText: OLD, newText: NEW }],
    ['several changes', { path: 'a.ts', edits: [{ old_string: OLD, new_string: NEW }] }],
  ])('hold what a call put in, and never what it replaced: %s', (_, input) => {
    const use = { type: 'tool_use', id: 'c1', name: 'edit_file', input } as const;
    const written = excerptsOf(assistantMessage([use])).parts.map(({ kind, text }) => `${kind} ${text}`);
    expect(written.join('\n')).toMatch(/^wrote const cap/);
    expect(written.join('\n')).not.toContain('readLimit');
  });

  const folder = process.env.X_RECORDINGS;
  it.runIf(folder !== undefined && existsSync(folder))(
    'stand in every recorded log of X_RECORDINGS',
    async () => {
      let checked = 0;
      for (const file of readdirSync(folder as string).filter((name) => name.endsWith('.json.gz'))) {
        const { messages } = JSON.parse(gunzipSync(readFileSync(join(folder as string, file))).toString());
        const log = messages.flatMap((message: RecordedMessage, index: number) =>
          messageOf(message, `${file}${index}`),
        );
        checked += await checkLog(log, 24_000);
      }
      expect(checked).toBeGreaterThan(0);
    },
    3_600_000,
  );
});

interface RecordedMessage {
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

function messageOf(
  { role, content, toolCalls = [], toolCallId = '', toolName = 'tool' }: RecordedMessage,
  id: string,
): Message[] {
  if (role === 'system') return [];
  if (role === 'tool') return [{ ...toolResultMessage({ id: toolCallId, name: toolName }, content), id }];
  if (content === '' && toolCalls.length === 0) return [];
  if (role === 'user') return [{ ...userMessage(content), id }];
  const calls = toolCalls.map(
    ({ id, name, arguments: input }) => ({ type: 'tool_use', id, name, input }) as const,
  );
  return [
    { ...assistantMessage([...(content ? [{ type: 'text', text: content } as const] : []), ...calls]), id },
  ];
}
