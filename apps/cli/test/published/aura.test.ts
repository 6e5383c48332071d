import { type Message, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import {
  applied,
  config,
  lines,
  nothing,
  type Row,
  run,
  sizeOf,
  small,
  talkOf,
  windowFor,
  withSummarizer,
} from './run-file.js';

withSummarizer();

describe('Aura from YAML alone', () => {
  const talk = talkOf(40);
  const due = windowFor(talk, 0.9);
  const aura = (words: string) => config(`preset: aura${words}`);
  const summarizer = {
    'prompts/Compaction.md': '---\nmodel: anthropic:claude-haiku-4-5\n---\nWrite minutes.',
  };
  const prompt = { 'prompts/brief.md': 'Write a brief.' };
  const written = talkOf(30, { input: { content: 'word '.repeat(600) }, output: 'ok' });
  const note = () => userMessage('Remember the house rules. '.repeat(40), { kind: 'synthetic' });
  const noted = [
    ...talkOf(20, { output: lines(60) }),
    note(),
    ...small(1).slice(1),
    note(),
    ...small(2).slice(1),
    note(),
    ...small(1).slice(1),
  ];
  const notes = (after: readonly Message[]) => after.filter(({ kind }) => kind === 'synthetic').length;
  const rows: readonly Row[] = [
    ['waits for 80 percent', { files: aura(''), talk, window: windowFor(talk, 0.75) }, nothing],
    ['is due at 80 percent', { files: aura(''), talk, window: windowFor(talk, 0.83) }, applied],
    [
      'is due at its threshold',
      { files: config('threshold: 60'), talk, window: windowFor(talk, 0.7) },
      applied,
    ],
    [
      'is due at max_tokens in its place',
      { files: config('max_tokens: 9000, threshold: 80'), talk },
      applied,
    ],
    [
      'is due with threshold 0 above the window alone',
      { files: config('threshold: 0'), talk, window: windowFor(talk, 0.88) },
      nothing,
    ],
    [
      'is due above the window whatever the threshold',
      { files: config('threshold: 0'), talk, window: due },
      applied,
    ],
    ['keeps 10 messages', { files: aura(''), talk, window: due }, ({ kept }) => expect(kept).toBe(10)],
    [
      'keeps keep_last_messages, and fewer where the window has no room for them',
      { files: config('keep_last_messages: 60'), talk, window: 9_000 },
      ({ kept, after }) => {
        expect(kept).toBeLessThan(30);
        expect(sizeOf(after)).toBeLessThan(9_000);
      },
    ],
    [
      'drops injected messages that repeat from 50 percent on',
      { files: aura(''), talk: noted, window: windowFor(noted, 0.6) },
      ({ used, after }) => expect([used, notes(after)]).toEqual(['trim_synthetic', 1]),
    ],
    [
      'leaves them below trim_threshold',
      { files: config('trim_threshold: 70'), talk: noted, window: windowFor(noted, 0.6) },
      nothing,
    ],
    [
      'drops them from trim_max_tokens on',
      {
        files: config('trim_max_tokens: 300, trim_threshold: 70'),
        talk: noted,
        window: windowFor(noted, 0.6),
      },
      ({ used }) => expect(used).toBe('trim_synthetic'),
    ],
    [
      'prunes nothing by itself',
      { files: aura(''), talk: written, window: windowFor(written, 0.6) },
      nothing,
    ],
    [
      'prunes large arguments between compactions with mode iteration',
      {
        files: config('prune: { mode: iteration, protect_percent: 30, arg_threshold: 200 }'),
        talk: written,
        window: windowFor(written, 0.6),
      },
      ({ used, after }) => {
        expect(used).toBe('preview_args');
        expect(JSON.stringify(after[1])).not.toContain('word '.repeat(100));
        expect(after.at(-3)).toEqual(written.at(-2));
      },
    ],
    [
      'prunes with a compaction alone with mode compaction',
      { files: config('prune: { mode: compaction }'), talk: written, window: windowFor(written, 0.6) },
      nothing,
    ],
    [
      'prunes before it summarizes with mode compaction',
      { files: config('prune: { mode: compaction }'), talk: written, window: windowFor(written, 0.9) },
      ({ used }) => expect(used).toMatch(/^preview_args/),
    ],
    [
      'writes in chunks, each told of the one before',
      { files: config('chunks: 3, threshold: 80'), talk, window: due },
      ({ asked }) => {
        expect(asked).toHaveLength(3);
        expect(asked[1]?.readable).toContain('The cause was found');
      },
    ],
    [
      'the dedicated summarizer sees 200 characters of a result',
      { files: { 'agent.yaml': config('agent: Compaction'), ...summarizer }, talk, window: due },
      ({ asked }) => {
        expect(asked.map(({ body }) => body.model)).toEqual(['claude-haiku-4-5']);
        expect(JSON.stringify(asked[0]?.body)).toContain('Write minutes.');
        expect(asked[0]?.readable).toContain('line 0');
        expect(asked[0]?.readable).not.toContain('line 150');
      },
    ],
    [
      'a prompt goes before an agent, with the agent’s own model',
      {
        files: { 'agent.yaml': config('prompt: brief, agent: Compaction'), ...prompt, ...summarizer },
        talk,
        window: due,
      },
      ({ asked }) => {
        expect(asked.map(({ body }) => body.model)).toEqual(['gpt-5']);
        expect(asked[0]?.readable).toContain('Write a brief.');
      },
    ],
    [
      'neither is the agent’s own model',
      { files: config('prompt: "", agent: "", threshold: 80'), talk, window: due },
      ({ asked, told }) => expect([asked.map(({ body }) => body.model), told]).toEqual([['gpt-5'], []]),
    ],
    [
      'an agent that is nowhere is told, and the default takes over',
      { files: config('agent: FastCompactor'), talk, window: due },
      ({ asked, told }) => {
        expect(told.join()).toContain('there is no model named "FastCompactor"');
        expect(asked.map(({ body }) => body.model)).toEqual(['gpt-5']);
      },
    ],
    ...['agent', 'prompt'].map(
      (key): Row => [
        `the ${key} that Aura ships is the agent’s own model where no file has its name`,
        { files: aura(`, ${key}: Compaction`), talk, window: due },
        ({ asked, told }) => expect([asked.map(({ body }) => body.model), told]).toEqual([['gpt-5'], []]),
      ],
    ),
    [
      'no model at all prunes, and leaves a record',
      {
        files: config('threshold: 80, model: null, prune: { mode: compaction }'),
        talk: written,
        window: windowFor(written, 8),
      },
      ({ asked, used, sent }) => {
        expect([asked.length, used]).toEqual([0, 'preview_args+summarize']);
        expect(sent).toContain('[CONVERSATION_SUMMARY]');
      },
    ],
    [
      'compaction.yaml counts, with its outer level, and the agent’s file before it',
      {
        files: {
          'agent.yaml': config('keep_last_messages: 20'),
          'compaction.yaml': 'compaction:\n  threshold: 60\n  keep_last_messages: 4',
        },
        talk,
        window: windowFor(talk, 0.7),
      },
      ({ used, kept }) => expect([used, kept]).toEqual(['summarize', 20]),
    ],
  ];
  it.each(rows)('%s', async (_, setting, effect) => effect(await run(setting)));

  const words = Array.from({ length: 9_000 }, (_, index) => (index * 7_919).toString(36)).join(' ');
  const record = ['INTENT\nMend.', `SUMMARY\n${words}`, 'ARTIFACTS\na.ts', 'NEXT STEPS\nTest.'];
  it.each([
    // Then it has less to read at a time.
    ['the model overflows', { windows: { 'claude-haiku-4-5': 1 } }, [0, 0]],
    // Then it is told what is wrong.
    ['the summary is too large', { record: record.map((section) => `## ${section}`).join('\n') }, [0]],
  ])('retries with 150, 100, 50 and 0 characters of each result where %s', async (_, faults, then) => {
    const files = { 'agent.yaml': config('agent: Compaction'), ...summarizer };
    const loud = talkOf(20, { output: 'x'.repeat(5_000) });
    const { asked, used, sent } = await run({ files, talk: loud, window: windowFor(loud, 0.9), faults });
    const seen = asked.map(({ readable }) =>
      Math.max(0, ...(readable.match(/(?<=characters\] )x{9,}/g) ?? []).map((run) => run.length)),
    );
    // Half of a cut result is its head, and half its tail.
    expect(seen).toEqual([100, 75, 50, 25, 0, ...then]);
    expect(used).toBe('summarize');
    expect(sent).toContain('[CONVERSATION_SUMMARY]');
  });

  it('refuses shares where it has percent', async () => {
    await expect(run({ files: config('threshold: 0.8'), talk: [] })).rejects.toThrow(
      'features.compaction.threshold: is in percent: write 80 for 80 %',
    );
  });

  it('assumes a window with a warning where none is known', async () => {
    const { events } = await run({ files: aura(''), talk, window: null, model: 'openai:one-of-tomorrow' });
    expect(JSON.stringify(events)).toContain('128000 tokens are assumed');
    const known = await run({ files: aura(''), talk, window: null });
    expect(JSON.stringify(known.events)).not.toContain('are assumed');
  });
});
