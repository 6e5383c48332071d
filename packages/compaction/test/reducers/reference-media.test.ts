import {
  assistantMessage,
  countMessage,
  estimateCounter,
  type FileBlock,
  type Message,
  textOf,
  toolResultMessage,
  userMessage,
} from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CompactionConfig, createCompactor, referenceMedia } from '../../src/index.js';
import { at, reduceWith } from '../build.js';

const image = (data: string, filename?: string): FileBlock => ({
  type: 'file',
  mediaType: 'image/png',
  source: { type: 'base64', data },
  ...(filename ? { filename } : {}),
});
const turn = (...files: FileBlock[]): Message[] => [
  userMessage([{ type: 'text', text: 'look' }, ...files]),
  assistantMessage('I see'),
];
const fileCount = (message: Message) => message.content.filter((block) => block.type === 'file').length;
const logged = { logLocation: 'log' };
const reduced = async (messages: readonly Message[], keepUserTurns = 2) =>
  (await reduceWith(referenceMedia({ keepUserTurns }), messages, {}, logged)).messages;

describe('referenceMedia', () => {
  it('turns files older than two turns into a text: type, size, name, place', async () => {
    const messages = [
      ...turn(image('A'.repeat(4_000), 'login.png')),
      ...turn(image('BBBB')),
      ...turn(image('CC==')),
    ];
    const { messages: after, fates } = await reduceWith(referenceMedia(), messages, {}, logged);
    expect(textOf(at(after, 0))).toBe(
      `look\n[image/png, 3.0 KB, login.png; in full: log message ${messages[0]?.id}]`,
    );
    expect(fates).toEqual([{ messageId: messages[0]?.id, fate: 'referenced' }]);
    expect(after.slice(1)).toEqual(messages.slice(1));
    expect(countMessage(estimateCounter, at(after, 0))).toBeLessThan(100);
  });

  it('does so inside tool results, and says where a file that is elsewhere lies', async () => {
    const call = { type: 'tool_use', id: 'shot', name: 'screenshot', input: {} } as const;
    const file = (source: FileBlock['source']): FileBlock => ({
      type: 'file',
      mediaType: 'application/pdf',
      source,
    });
    const result = toolResultMessage(call, [
      { type: 'text', text: 'taken' },
      file({ type: 'workspace', path: 'docs/a.pdf' }),
      file({ type: 'url', url: 'https://example.com/b.pdf' }),
      file({ type: 'provider', provider: 'acme', id: 'f1' }),
    ]);
    const after = await reduced([userMessage('go'), assistantMessage([call]), result, ...turn(), ...turn()]);
    expect(textOf(at(after, 2))).toContain('taken\n[application/pdf, docs/a.pdf; in full');
    expect(textOf(at(after, 2))).toContain('https://example.com/b.pdf');
    expect(textOf(at(after, 2))).toContain('acme file f1');
  });

  it('keeps one copy of the same bytes, the newest, and names one place for all', async () => {
    const messages = [...turn(image('AAAA')), ...turn(image('AAAA')), ...turn(image('AAAA'), image('BBBB'))];
    const after = await reduced(messages, 9);
    expect(after.map(fileCount)).toEqual([0, 0, 0, 0, 2, 0]);
    const gone = await reduced([...messages, ...turn(), ...turn()]);
    expect(gone.map(fileCount).some((count) => count > 0)).toBe(false);
    const places = gone.flatMap(
      (message) => textOf(message).match(/3 bytes; in full: log message [\w-]+/g) ?? [],
    );
    expect(new Set(places).size).toBe(2);
    expect(places[0]).toContain(messages[0]?.id);
  });

  it('never touches a file that no model has seen, nor one of the latest request', async () => {
    const unseen = [...turn(image('AAAA')), userMessage([image('BBBB')]), userMessage([image('BBBB')])];
    expect((await reduced(unseen, 0)).map(fileCount)).toEqual([0, 0, 1, 1]);
    const first = [userMessage([image('AAAA')]), userMessage([image('BBBB')])];
    expect(await reduced(first, 0)).toBe(first);
    const answered = turn(image('AAAA'));
    expect(await reduced(answered, 0)).toBe(answered);
  });

  it('is a stage where it is named, and saves what old files take before anything is summarized', async () => {
    const files = Array.from({ length: 10 }, (_, index) => image(`${index}`.repeat(4_000)));
    const messages = [...turn(...files), ...turn(), ...turn()];
    const options: CompactionConfig = { contextWindow: 16_000, model: null };
    const stages = ['reference_media', 'summarize', 'drop_oldest'] as const;
    const outcome = await createCompactor({ ...options, stages: [...stages] }).compact(messages, {
      reason: 'proactive_budget',
    });
    expect(outcome).toMatchObject({
      status: 'applied',
      messagesAfter: 6,
      reason: 'reduced by reference_media',
    });
    const without = await createCompactor(options).compact(messages, { reason: 'proactive_budget' });
    expect(without.steps.map(({ reducer }) => reducer)).not.toContain('reference_media');
  });

  it('leaves no file before the kept turns, and one copy of each within, for any conversation', async () => {
    const files = fc.array(
      fc.constantFrom('AAAA', 'BBBB', 'CCCC').map((data) => image(data)),
      { maxLength: 3 },
    );
    const sources = (messages: readonly Message[]) =>
      messages.map(({ content }) =>
        content.flatMap((block) => (block.type === 'file' ? [JSON.stringify(block.source)] : [])),
      );
    await fc.assert(
      fc.asyncProperty(fc.array(files, { minLength: 1, maxLength: 8 }), fc.nat(4), async (turns, keep) => {
        const messages = turns.flatMap((own) => turn(...own));
        const after = await reduced(messages, keep);
        // The latest request keeps its files whatever the setting.
        const border = Math.max(0, messages.length - 2 * Math.max(keep, 1));
        expect(sources(after).slice(0, border).flat()).toEqual([]);
        const left = sources(after).slice(border);
        expect(new Set(left.flat())).toEqual(new Set(sources(messages).slice(border).flat()));
        for (const source of new Set(left.flat())) {
          expect(left.filter((own) => own.includes(source))).toHaveLength(1);
        }
      }),
    );
  });
});
