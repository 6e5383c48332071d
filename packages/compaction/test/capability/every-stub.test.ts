import {
  AgentState,
  assistantMessage,
  type JsonValue,
  type Message,
  type ToolScope,
  type ToolUseBlock,
  toolResultMessage,
  userMessage,
} from '@x/core';
import { atOnce } from '@x/core/internal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { marksOf } from '../../src/conversation/marks.js';
import { STUB_TEXTS } from '../../src/conversation/stub-texts.js';
import { mapStrings } from '../../src/conversation/text.js';
import { previewBlock } from '../../src/eviction/evict-text.js';
import {
  type CompactionConfig,
  compaction,
  createCompactor,
  previewArgs,
  truncateArgs,
} from '../../src/index.js';
import { cutMessage } from '../../src/stages/cut-unseen.js';
import { keepUserWords } from '../../src/summary/user-words.js';
import { lines, meter, rounds } from '../build.js';
import { longConversations, runs } from '../invariants/conversations.js';
import { compactors } from '../invariants/stages.js';

const copies = (content: string): ToolUseBlock => ({
  type: 'tool_use',
  id: 'new',
  name: 'write_file',
  input: { path: 'a.ts', content },
});

/** The verdict of an agent that has just loaded this conversation. */
function verdictOf(call: ToolUseBlock, context: readonly Message[]) {
  const state = AgentState.create({ sessionId: 's' });
  state.contextMutable().push(...context);
  return compaction({ model: null }).authorize?.(call, { state } as ToolScope);
}

/** Every text of a message, those in arguments of its calls too. */
function textsIn({ content }: Pick<Message, 'content'>): readonly string[] {
  const texts: string[] = [];
  mapStrings(content as unknown as JsonValue, (text) => {
    texts.push(text);
    return text;
  });
  return texts;
}

function truncationsIn(context: readonly Message[]): ReadonlySet<string> {
  return new Set(
    context.map((message) => marksOf(message).truncated).filter((mark) => typeof mark === 'string'),
  );
}

async function reduced(config: CompactionConfig, messages: readonly Message[]): Promise<readonly Message[]> {
  return (await createCompactor({ model: null, ...config }).compact(messages, { reason: 'manual' })).messages;
}

const written = () => [
  ...rounds(12, () => ({ name: 'write_file', input: { path: 'a', content: lines(900) } })),
  userMessage('Go on'),
];
const unseen = (output: string) =>
  reduced({ stages: ['cut_unseen'], contextWindow: 64_000 }, [
    userMessage('Load it'),
    ...rounds(1, () => ({ output })),
  ]);
const words = (...requests: readonly string[]) => {
  const messages = [...requests, 'Go on'].map((text) => userMessage(text));
  return keepUserWords(messages, messages, 2_000, meter).map(({ message }) => message);
};
const evicted = async () => [
  userMessage([await previewBlock('The result of bash', lines(9_000), 'evicted/a.txt', 2_000)]),
];
const image = { type: 'file', mediaType: 'image/png', source: { type: 'base64', data: 'AAAA' } } as const;

/** By stub: a conversation in which one stands. */
const contexts: Readonly<Record<keyof typeof STUB_TEXTS, () => Promise<readonly Message[]>>> = {
  masked: () =>
    reduced(
      { stages: ['mask_outputs'] },
      rounds(12, () => ({ output: lines(300) })),
    ),
  previewed: () => reduced({ stages: [previewArgs({ protectPercent: 0 })] }, written()),
  truncated: () => reduced({ stages: [truncateArgs({ keepMessages: 2 })] }, written()),
  cut: () => unseen(lines(200_000)),
  counted: () => unseen('the same line\n'.repeat(200_000)),
  file: async () => [
    atOnce(
      cutMessage(toolResultMessage({ id: 'c', name: 'look' }, [image]), 10, meter, () => ({
        words: 'recall r3',
      })),
    ),
  ],
  leftOut: async () => words('first', lines(9_000)),
  repeated: async () => words('x'.repeat(900), `Again\n\n${'x'.repeat(900)}`),
  evicted,
  middle: evicted,
};

describe('every stub', () => {
  it.each(Object.entries(STUB_TEXTS))('is refused where it is copied: %s', async (name, { pattern }) => {
    const context = await contexts[name as keyof typeof STUB_TEXTS]();
    const truncations = truncationsIn(context);
    const stubs = context
      .flatMap(textsIn)
      .flatMap((text) => (pattern ? (pattern.exec(text)?.[0] ?? []) : [...truncations]));
    expect(stubs.length).toBeGreaterThan(0);
    for (const stub of stubs) {
      expect(verdictOf(copies(`before ${stub} after`), context)).toMatchObject({
        type: 'deny',
      });
    }
  });

  it.each(Object.entries(compactors))('is refused, whichever stage wrote it: %s', async (_, config) => {
    await fc.assert(
      fc.asyncProperty(longConversations, fc.integer({ min: 64, max: 4_000 }), async (messages, window) => {
        const compactor = createCompactor({ ...config(), contextWindow: window });
        const { messages: context } = await compactor.compact(messages, { reason: 'manual' });
        const said = new Map(messages.map((message) => [message.id, new Set(textsIn(message))]));
        for (const message of context) {
          const before = said.get(message.id);
          for (const text of before ? textsIn(message).filter((each) => !before.has(each)) : []) {
            expect(verdictOf(copies(text), context)).toMatchObject({
              type: 'deny',
            });
          }
        }
      }),
      runs(10),
    );
  });

  it('may be written where only a text like it was said', () => {
    const context = [userMessage('Hello'), assistantMessage('Hi')];
    const like = STUB_TEXTS.cut.write(3, 9, 'why');
    expect(verdictOf(copies(like), context)).toBeUndefined();
  });
});
