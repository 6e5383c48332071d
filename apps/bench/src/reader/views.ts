import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCompactor } from '@x/compaction';
import { type ContentBlock, type Message, type Model, textOf } from '@x/core';

/** A point of a recorded conversation, and the window of the model that continues from there. */
export interface Point {
  readonly name: string;
  readonly window: number;
  /** The messages up to the point. */
  readonly messages: readonly Message[];
  /** The folder in which a person, or a model, answers prompts by file. */
  readonly out: string | undefined;
}

/** Returns what is kept of a conversation; `undefined` while an answer file is missing. */
export type Policy = (point: Point) => Promise<readonly Message[] | undefined>;

/** Number of messages that the simple policies keep. */
const TAIL = 20;

/** All policies by name. Those that ask a model write its prompts to the folder, and read its answers from there. */
export const policies: Readonly<Record<string, Policy>> = {
  full: async ({ messages }) => messages,
  tail20: async ({ messages }) => {
    const start = startOfTail(messages);
    const first = messages.findIndex(({ role }) => role === 'user');
    const request = first < start ? messages.slice(first, first + 1) : [];
    return [...request, ...messages.slice(start)];
  },
  record: (point) => compacted(point),
  'record-now': (point) => compacted(point, undefined, true),
  llm: async (point) => {
    const answers = byFile(point, 'llm');
    return answers && compacted(point, answers);
  },
  // Compacted exactly at the point, like `peer`, so that the two are comparable.
  'llm-now': async (point) => {
    const answers = byFile(point, 'llm');
    return answers && compacted(point, answers, true);
  },
  peer: async (point) => {
    const { messages, out } = point;
    const answers = byFile(point, 'peer');
    const prompt = join(out ?? '', 'peer-prompt.txt');
    if (!answers || !existsSync(prompt)) return undefined;
    const start = startOfTail(messages);
    const template = readFileSync(prompt, 'utf8');
    const answer = answers.answer(template.replace('{messages}', () => show(messages.slice(0, start))));
    if (answer === undefined) return undefined;
    const text = `Here is a summary of the conversation to date:\n\n${answer}`;
    const summary = {
      id: 'summary',
      role: 'user',
      kind: 'summary',
      createdAt: '',
      content: [{ type: 'text', text }],
    } as const;
    return [summary, ...messages.slice(start)];
  },
};

/**
 * Runs our compactor with default settings. Its prompts are answered by `answers`.
 *
 * @param now Compacts again at the end, whatever the size, so that the result does not depend on when the last compaction happened.
 */
async function compacted(
  { messages, window }: Point,
  answers?: Answers,
  now = false,
): Promise<readonly Message[] | undefined> {
  const compactor = createCompactor({ contextWindow: window, model: answers?.model ?? null });
  let view: readonly Message[] = [];
  for (const [index, message] of messages.entries()) {
    view = [...view, message];
    if (message.role === 'assistant' || messages[index + 1]?.role === 'tool') continue;
    view = (await compactor.compact(view, { reason: 'proactive_budget' })).messages;
    if (answers?.missing()) return undefined;
  }
  if (!now) return view;
  view = (await compactor.compact(view)).messages;
  return answers?.missing() ? undefined : view;
}

interface Answers {
  readonly model: Model;
  answer(prompt: string): string | undefined;
  missing(): boolean;
}

/** Returns a model that is answered by file: prompts are written to files, answers read from others. `undefined` without a folder. */
function byFile({ name, out }: Point, policy: string): Answers | undefined {
  if (out === undefined) return undefined;
  let asked = 0;
  let missing = false;
  const answer = (prompt: string): string | undefined => {
    asked++;
    const path = join(out, `${name}.${policy}.answer-${asked}.txt`);
    if (existsSync(path)) return readFileSync(path, 'utf8');
    const question = join(out, `${name}.${policy}.prompt-${asked}.txt`);
    writeFileSync(question, prompt);
    console.log(`Asks ${question}, to be answered in ${path}`);
    missing = true;
    return undefined;
  };
  return {
    answer,
    missing: () => missing,
    model: {
      id: 'by-file',
      contextWindow: 200_000,
      async generate({ system = '', messages }) {
        const text = answer([system, ...messages.map((message) => textOf(message))].join('\n\n'));
        if (text === undefined) throw new Error('not answered yet');
        return {
          content: [{ type: 'text', text }],
          finishReason: 'stop',
          usage: { inputTokens: 1, outputTokens: 1 },
        };
      },
    },
  };
}

function startOfTail(messages: readonly Message[]): number {
  let start = Math.max(0, messages.length - TAIL);
  while (start > 0 && messages[start]?.role === 'tool') start--;
  return start;
}

/** Renders messages for a reader. Omits ids, which no model sees. */
export function show(messages: readonly Message[]): string {
  return messages
    .map(({ role, kind, content }) => {
      const head = `=== ${role}${kind ? ` (${kind})` : ''}`;
      return [head, ...content.map(showBlock)].join('\n');
    })
    .join('\n\n');
}

function showBlock(block: ContentBlock): string {
  if (block.type === 'text') return block.text;
  if (block.type === 'tool_use') return `[call ${block.name}] ${JSON.stringify(block.input)}`;
  if (block.type === 'tool_result')
    return `[result of ${block.toolName}]\n${block.output.map(showBlock).join('\n')}`;
  return `[${block.type}]`;
}
