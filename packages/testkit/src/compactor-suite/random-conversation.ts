import {
  assistantMessage,
  type ContentBlock,
  type Message,
  systemMessage,
  type ToolUseBlock,
  toolResultMessage,
  userMessage,
} from '@x/core';
import { randomNumbers } from '../random-numbers.js';

export interface RandomConversationOptions {
  /** Number of requests, injected messages and tool rounds. Default 20. */
  readonly parts?: number | undefined;
  /** Prefix of every message id, so that conversations can be joined. Default: the seed. */
  readonly idPrefix?: string | undefined;
  /** Ends with a tool call without a result. Default false. */
  readonly open?: boolean | undefined;
}

const TEXTS = [
  '',
  'ok',
  'Read src/app/main.ts again.',
  'Error: ENOENT /etc/x',
  '  \n',
  '[tool output]',
  '\\ud83e',
];
const LINES = [
  'const answer = 42;',
  'word by word ',
  '🦊🦊🦊',
  '字字字字',
  '{"key": "value"}',
  'e\u0301 👩‍👩‍👧 ',
];

/**
 * Creates a random conversation of an agent. The same seed gives the same conversation: requests, injected messages, tool rounds with
 * parallel calls and reused ids, thinking, failed calls, files, and texts of 0 to several thousand characters.
 */
export function randomConversation(
  seed: number,
  options: RandomConversationOptions = {},
): readonly Message[] {
  const { parts = 20, idPrefix = `${seed}`, open = false } = options;
  const below = randomNumbers(seed);
  const messages: Message[] = [];
  const stamp = () => ({ id: `${idPrefix}-${messages.length}`, createdAt: '2026-01-01T00:00:00.000Z' });
  const add = (make: (options: ReturnType<typeof stamp>) => Message) => void messages.push(make(stamp()));

  add((own) => userMessage(`Fix it. ${text(below)}`, own));
  for (let part = 0; part < parts; part++) {
    const kind = below(10);
    if (kind === 0) add((own) => userMessage('Remember the rules.', { ...own, kind: 'synthetic' }));
    else if (kind === 1) add((own) => systemMessage(`Note: ${text(below)}`, own));
    else if (kind <= 3) add((own) => userMessage(text(below) || 'Go on.', own));
    else {
      const calls = Array.from({ length: below(4) }, (_, index) => call(`call_${index}`, text(below)));
      const content: ContentBlock[] = [{ type: 'text', text: text(below) }, ...calls];
      if (below(3) === 0) content.unshift({ type: 'thinking', thinking: 'Hm.', signature: 'signed' });
      add((own) => assistantMessage(content, own));
      for (const use of calls) {
        const output: Parameters<typeof toolResultMessage>[1] =
          below(8) === 0
            ? [{ type: 'file', mediaType: 'image/png', source: { type: 'base64', data: 'AAAA' } }]
            : text(below);
        const isError = below(6) === 0;
        add((own) => toolResultMessage(use, output, { ...own, isError }));
      }
    }
  }
  if (open) add((own) => assistantMessage([call('call_open', 'src/open.ts')], own));
  return messages;
}

function call(id: string, content: string): ToolUseBlock {
  return { type: 'tool_use', id, name: 'write_file', input: { path: 'src/a.ts', content, lines: 3 } };
}

function text(below: (bound: number) => number): string {
  const short = TEXTS[below(TEXTS.length)] ?? '';
  if (below(3) === 0) return short;
  const line = LINES[below(LINES.length)] ?? '';
  return `${short}${below(2) === 0 ? '\n' : ''}${line.repeat(1 + below(100))}`;
}
