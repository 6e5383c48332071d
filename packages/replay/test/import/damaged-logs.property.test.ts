import { textOf } from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { importConversation } from '../../src/index.js';

type Row = Readonly<Record<string, unknown>>;
/** One thing that was said, and what the row before it was. */
interface Said {
  readonly kind: 'question' | 'call' | 'result' | 'answer';
  readonly id: string;
  readonly before: string | null;
  /** Of the call that it is, or answers. */
  readonly call: string;
}
/** How a program logs what was said; the text of a row names its id. */
interface Program {
  /** The name of the format, if programs share it. */
  readonly format?: string;
  readonly first: readonly Row[];
  row(said: Said): Row;
  /** The row that takes back everything from a row on; of a tree, the next row names another parent. */
  rewind?(to: Said): Row | undefined;
}

const words = (id: string) => `words of ${id}.`;
const text = (id: string) => [{ type: 'text', text: words(id) }];

const PROGRAMS: Readonly<Record<string, Program>> = {
  'claude-code': {
    first: [{ type: 'summary', summary: 'A title', leafUuid: 'r0' }],
    row({ kind, id, before, call }) {
      const type = kind === 'question' || kind === 'result' ? 'user' : 'assistant';
      const content = {
        question: words(id),
        call: [{ type: 'tool_use', id: call, name: 'Read', input: { file_path: words(id) } }],
        result: [{ type: 'tool_result', tool_use_id: call, content: words(id) }],
        answer: text(id),
      }[kind];
      const message = { role: type, content, ...(type === 'assistant' ? { id: `m-${id}` } : {}) };
      return { type, uuid: id, parentUuid: before, sessionId: 's', isSidechain: false, message };
    },
    rewind: () => undefined,
  },
  'qwen-code': {
    format: 'claude-code',
    first: [],
    row({ kind, id, before, call }) {
      const type = { question: 'user', call: 'assistant', result: 'tool_result', answer: 'assistant' }[kind];
      const parts = {
        question: [{ text: words(id) }],
        call: [{ functionCall: { id: call, name: 'read_file', args: { path: words(id) } } }],
        result: [{ functionResponse: { id: call, name: 'read_file', response: { output: words(id) } } }],
        answer: [{ text: words(id) }],
      }[kind];
      const message = { role: type === 'assistant' ? 'model' : 'user', parts };
      return { type, uuid: id, parentUuid: before, sessionId: 's', message };
    },
    rewind: () => undefined,
  },
  droid: {
    first: [{ type: 'session_start', id: 's', version: 2 }],
    row({ kind, id, before, call }) {
      const role = kind === 'question' || kind === 'result' ? 'user' : 'assistant';
      const content = {
        question: text(id),
        call: [{ type: 'tool_use', id: call, name: 'Read', input: { file_path: words(id) } }],
        result: [{ type: 'tool_result', tool_use_id: call, content: words(id) }],
        answer: text(id),
      }[kind];
      return { type: 'message', id, parentId: before, message: { role, content } };
    },
    rewind: () => undefined,
  },
  pi: {
    first: [{ type: 'session', id: 's' }],
    row({ kind, id, before, call }) {
      const message = {
        question: { role: 'user', content: text(id) },
        call: {
          role: 'assistant',
          content: [{ type: 'toolCall', id: call, name: 'read', arguments: { path: words(id) } }],
        },
        result: { role: 'toolResult', toolCallId: call, toolName: 'read', content: text(id) },
        answer: { role: 'assistant', content: text(id) },
      }[kind];
      return { type: 'message', id, parentId: before, message };
    },
    rewind: () => undefined,
  },
  'gemini-cli': {
    first: [{ sessionId: 's', projectHash: 'p' }],
    row({ kind, id, call }) {
      if (kind === 'question') return { id, type: 'user', content: words(id) };
      if (kind !== 'result') return { id, type: 'gemini', content: words(id) };
      const toolCalls = [
        { id: call, name: 'read_file', args: {}, result: [{ text: words(id) }], status: 'success' },
      ];
      return { id, type: 'gemini', content: '', toolCalls };
    },
    rewind: ({ id }) => ({ $rewindTo: id }),
  },
  codex: {
    first: [{ type: 'session_meta', payload: { id: 's' } }],
    row({ kind, id, call }) {
      const payload = {
        question: { type: 'message', role: 'user', content: [{ type: 'input_text', text: words(id) }] },
        call: {
          type: 'function_call',
          call_id: call,
          name: 'shell',
          arguments: JSON.stringify({ command: words(id) }),
        },
        result: { type: 'function_call_output', call_id: call, output: words(id) },
        answer: { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: words(id) }] },
      }[kind];
      return { timestamp: id, type: 'response_item', payload };
    },
  },
  'copilot-cli': {
    first: [{ type: 'session.start', data: { sessionId: 's' } }],
    row({ kind, id, call }) {
      const toolRequests = [{ toolCallId: call, name: 'view', arguments: { path: words(id) } }];
      const [type, data] = {
        question: ['user.message', { content: words(id) }],
        call: ['assistant.message', { messageId: id, toolRequests }],
        result: ['tool.execution_complete', { toolCallId: call, result: { content: words(id) } }],
        answer: ['assistant.message', { messageId: id, content: words(id) }],
      }[kind] as [string, object];
      return { type, timestamp: id, data };
    },
  },
};

const damage = fc.array(
  fc.record({ kind: fc.constantFrom('cut', 'twice', 'torn', 'rewind'), at: fc.nat(59) }),
  { maxLength: 6 },
);

/** A log of 15 turns with some damage, the ids of the rows that can still be read, and the number of lines that cannot. */
function damaged({ first, row, rewind }: Program, done: readonly { kind: string; at: number }[]) {
  const kinds = ['question', 'call', 'result', 'answer'] as const;
  const said: Said[] = [];
  const lines = first.map((each) => JSON.stringify(each));
  const legible = new Set<string>();
  let torn = 0;
  for (let place = 0; place < 60; place++) {
    const kind = kinds[place % 4] as Said['kind'];
    const marks = done.filter(({ at }) => at === place).map((mark) => mark.kind);
    const back = said.filter((each) => each.kind === 'question').at(-2);
    const goesBack = kind === 'question' && marks.includes('rewind') && rewind !== undefined && back;
    const line = goesBack && rewind?.(back);
    if (line) lines.push(JSON.stringify(line));
    const before = goesBack ? back.before : (said.at(-1)?.id ?? null);
    const one: Said = { kind, id: `r${place}`, before, call: `c${Math.floor(place / 4)}` };
    said.push(one);
    const written = JSON.stringify(row(one));
    if (marks.includes('cut')) continue;
    if (marks.includes('torn')) {
      lines.push(written.slice(0, written.length / 2));
      torn++;
    } else {
      legible.add(one.id);
      lines.push(...(marks.includes('twice') ? [written, written] : [written]));
    }
  }
  return { log: lines.join('\n'), legible, torn };
}

describe.each(Object.entries(PROGRAMS))('a damaged log of %s', (name, program) => {
  it('misses no row that is not counted', () => {
    fc.assert(
      fc.property(damage, (done) => {
        const { log, legible, torn } = damaged(program, done);
        const read = importConversation(log);
        expect(read.format).toBe(program.format ?? name);
        const all = JSON.stringify(read.messages);
        const missing = [...legible].filter((id) => !all.includes(words(id)));
        const counted = Object.entries(read.unread)
          .filter(([reason]) => /undone|abandoned/.test(reason))
          .reduce((sum, [, count]) => sum + count, 0);
        expect(missing.length).toBeLessThanOrEqual(counted);
        if (!done.some(({ kind }) => kind === 'rewind')) expect(missing).toEqual([]);
        expect(read.unread['line that is not valid JSON'] ?? 0).toBe(torn);
        // The user's words are those of the questions, each once, and no others.
        const typed = read.messages.filter(({ role, kind }) => role === 'user' && kind === undefined);
        const questions = [...legible].filter((id) => Number(id.slice(1)) % 4 === 0 && !missing.includes(id));
        const said = typed.map((message) => textOf(message)).join('\n');
        for (const id of questions) expect(said.split(words(id))).toHaveLength(2);
        expect(said.match(/words of/g) ?? []).toHaveLength(questions.length);
        const asked = read.messages.flatMap(({ content }) =>
          content.flatMap((b) => (b.type === 'tool_use' ? b.id : [])),
        );
        const given = read.messages.flatMap(({ content }) =>
          content.flatMap((b) => (b.type === 'tool_result' ? b.toolUseId : [])),
        );
        expect(given).toEqual(asked);
        expect(new Set(asked).size).toBe(asked.length);
      }),
      { numRuns: 80 },
    );
  });
});
