import {
  assistantMessage,
  type FileBlock,
  type Message,
  textOf,
  toolResultMessage,
  userMessage,
} from '@x/core';
import { messageBytes } from '@x/core/messages';
import { assertAccounted, assertPaired } from '@x/test-support';
import { describe, expect, it } from 'vitest';
import { type CompactionConfig, createCompactor } from '../../src/index.js';
import { lines, rounds } from '../build.js';
import { GOOD_SUMMARY, modelOf } from '../models.js';

const file = (size: number, mediaType = 'image/png'): FileBlock => ({
  type: 'file',
  mediaType,
  filename: 'shot.png',
  source: { type: 'base64', data: 'A'.repeat(size) },
});

/** So many screenshots, each of them a call and its result. */
function shots(count: number, size: number): Message[] {
  return Array.from({ length: count }, (_, index) => {
    const call = { type: 'tool_use', id: `s${index}`, name: 'screenshot', input: { index } } as const;
    const shown = toolResultMessage(call, [{ type: 'text', text: `slide ${index}` }, file(size)]);
    return [assistantMessage([call]), shown];
  }).flat();
}

const compact = (messages: readonly Message[], config: CompactionConfig = {}) =>
  createCompactor({ contextWindow: 1_000_000, ...config }).compact(messages, { reason: 'proactive_budget' });

describe('a request with too many bytes', () => {
  it.each<CompactionConfig>([
    {},
    { preset: 'agentscope' },
    { preset: 'everruns' },
    { preset: 'aura' },
    { trigger: { messages: 500 } },
  ])('loses its oldest files, and nothing else: %j', async (config) => {
    const first = userMessage([{ type: 'text', text: 'Check each' }, file(465_000)]);
    const messages = [first, ...shots(20, 1_300_000), assistantMessage('looks good')];
    const outcome = await compact(messages, { model: null, ...config });
    expect(outcome).toMatchObject({ status: 'applied', messagesAfter: messages.length });
    expect(outcome.steps.map(({ stage }) => stage)).toEqual(['reduce_media']);
    assertAccounted(messages, outcome);
    assertPaired(outcome.messages);
    expect(messageBytes(outcome.messages)).toBeLessThanOrEqual(10_000_000);
    expect(messageBytes(outcome.messages)).toBeGreaterThan(8_000_000);
    expect(outcome.messages[0]).toBe(first);
    expect(outcome.messages.slice(-12)).toEqual(messages.slice(-12));
    expect(textOf(outcome.messages[2] as Message)).toMatch(/^slide 0\n?\[image\/png, shot.png/);
  });

  it('loses files in data URLs, too', async () => {
    const url = `data:image/png;base64,${'A'.repeat(3_000_000)}`;
    const shot = { type: 'file', mediaType: 'image/png', source: { type: 'url', url } } as const;
    const asked = Array.from({ length: 9 }, () => [userMessage([shot]), assistantMessage('I see.')]).flat();
    const outcome = await compact([userMessage('Go'), ...asked]);
    expect(outcome).toMatchObject({ status: 'applied', messagesAfter: 19 });
    expect(messageBytes(outcome.messages)).toBeLessThan(10_000_000);
  });

  it('keeps what no model has seen, and the latest request', async () => {
    const latest = userMessage([{ type: 'text', text: 'This one' }, file(25_000_000)]);
    expect(await compact([latest])).toMatchObject({ status: 'ineffective' });
    const unseen = shots(1, 25_000_000);
    const outcome = await compact([userMessage([{ type: 'text', text: 'Go' }, file(1_000_000)]), ...unseen]);
    expect(outcome.messages.slice(-2)).toEqual(unseen);
  });

  it('calls no model and condenses nothing where files that must stay are too heavy', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const latest = userMessage([{ type: 'text', text: 'This one' }, file(22_000_000)]);
    const messages = [userMessage('Go'), ...rounds(40, () => ({ output: lines(40) })), latest, ...rounds(2)];
    expect(await compact(messages, { model })).toMatchObject({ status: 'ineffective', messages });
    const [old, full] = [
      shots(1, 1_000),
      { model, contextWindow: 10_000, stages: ['summarize', 'drop_oldest'] as const },
    ];
    const both = await compact([messages[0] as Message, ...old, ...messages.slice(1)], {
      ...full,
      stages: [...full.stages],
    });
    expect(both.steps.map(({ stage }) => stage)).toEqual(['reduce_media', 'summarize']);
    expect(model.requests).toHaveLength(1);
  });

  it('condenses texts where they alone are too heavy', async () => {
    const messages = [
      userMessage('Go'),
      ...rounds(40, () => ({ output: lines(40) })),
      assistantMessage('ok'),
    ];
    const bytes = messageBytes(messages) - 1;
    const outcome = await compact(messages, { model: null, trigger: { bytes } });
    expect(outcome).toMatchObject({ status: 'applied' });
    expect(messageBytes(outcome.messages)).toBeLessThan(bytes);
  });

  it('is due at trigger.bytes, beside other triggers; 0 is never', async () => {
    const messages = [userMessage('Go'), ...shots(6, 1_000_000), assistantMessage('ok')];
    expect(await compact(messages)).toMatchObject({ status: 'skipped' });
    expect(await compact(messages, { trigger: { bytes: 5_000_000 } })).toMatchObject({ status: 'applied' });
    const heavy = [userMessage('Go'), ...shots(30, 1_000_000), assistantMessage('ok')];
    expect(await compact(heavy, { trigger: { bytes: 0 } })).toMatchObject({ status: 'skipped' });
  });

  it('loses its oldest files without a summary where they fill the window', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const pdfs = shots(4, 1_000_000).map((message): Message => {
      const content = message.content.map((block) =>
        block.type === 'tool_result' ? { ...block, output: [file(1_000_000, 'application/pdf')] } : block,
      );
      return { ...message, content };
    });
    const messages = [userMessage('Read all'), ...pdfs, assistantMessage('ok')];
    const compactor = createCompactor({ contextWindow: 100_000, model });
    const outcome = await compactor.compact(messages, { reason: 'proactive_budget' });
    expect(outcome).toMatchObject({ status: 'applied', messagesAfter: messages.length });
    expect(outcome.steps.map(({ stage }) => stage)).toEqual(['reduce_media']);
    // Each reduction ends the prompt cache, so it goes as far as a summary, and is as rare.
    expect(outcome.tokensAfter).toBeLessThan(42_500);
    expect(outcome.messages.slice(-3)).toEqual(messages.slice(-3));
    expect(model.requests).toHaveLength(0);
    // Files are no reason to lose them if other messages fill the window.
    const others = [userMessage('Go'), ...rounds(150, () => ({ output: lines(400) }))];
    const all = [...others, ...shots(4, 1_000), assistantMessage('ok')];
    const { steps } = await compactor.compact(all, { reason: 'proactive_budget' });
    const [step] = steps;
    expect(steps.map(({ stage }) => stage)).toContain('summarize');
    expect(step).toMatchObject({
      stage: 'reduce_media',
      note: expect.stringContaining('enough room'),
    });
  });

  it('keeps the files of users, and those that need not go, where a summary has to be written', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const compactor = createCompactor({ contextWindow: 100_000, model });
    const asked = userMessage([{ type: 'text', text: 'Implement this' }, file(2_000_000, 'application/pdf')]);
    const work = rounds(20, () => ({ output: lines(600) }));
    const messages = [
      asked,
      ...work,
      assistantMessage('Done.'),
      userMessage('Go on'),
      assistantMessage('ok'),
    ];
    const { messages: after } = await compactor.compact(messages, { reason: 'proactive_budget' });
    expect(model.requests).toHaveLength(1);
    expect(after).toContain(asked);
    const more = rounds(20, () => ({ output: lines(600) }));
    const all = [userMessage('Go'), ...work, ...more, ...shots(20, 1_200_000), assistantMessage('ok')];
    const heavy = await compactor.compact(all, { reason: 'proactive_budget' });
    expect(model.requests).toHaveLength(2);
    expect(heavy.messages.slice(-9)).toEqual(all.slice(-9));
    const manual = await compactor.compact(messages, { reason: 'manual' });
    expect(manual.steps.map(({ stage }) => stage)).not.toContain('reduce_media');
  });

  it('goes on with the other stages where tokens are too many, too', async () => {
    const messages = [
      userMessage('Go'),
      ...shots(10, 2_500_000),
      ...rounds(20, () => ({ output: lines(400) })),
      assistantMessage('ok'),
    ];
    const outcome = await compact(messages, { model: null, contextWindow: 40_000 });
    expect(outcome.status).toBe('applied');
    expect(outcome.tokensAfter).toBeLessThan(34_000);
    expect(messageBytes(outcome.messages)).toBeLessThan(20_000_000);
  });
});
