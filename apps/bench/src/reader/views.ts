import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCompactor } from '@x/compaction';
import { type ContentBlock, type Message, type Model, textOf } from '@x/core';

/** One point of a recorded conversation, and the window of the model that is to go on from there. */
export interface Point {
  readonly name: string;
  readonly window: number;
  /** What was said until then. */
  readonly messages: readonly Message[];
  /** The folder in which a person, or a model behind it, answers by file. */
  readonly out: string | undefined;
}

/** What is left of a conversation; nothing while an answer by file is missing. */
export type Policy = (point: Point) => Promise<readonly Message[] | undefined>;

/** Messages that the simple policies leave. */
const TAIL = 20;

/** Every policy by its name. Those that ask a model leave its prompts in the folder, and take its answers from there. */
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
  // Compacted at the very point, as `peer` is: the same moment for both.
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
 * Our compactor as it comes, asked wherever a model was.
 *
 * @param now Compacts again in the end, whatever the size: what is left then does not depend on when the last
 * compaction happened to be.
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

/** A model that someone answers for: the prompt is written to a file, the answer read from another one. */
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

/** Messages as a reader gets them: without ids, which no model sees. */
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
