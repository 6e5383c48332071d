import { assistantMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import {
  applied,
  config,
  lines,
  nothing,
  outputs,
  type Row,
  run,
  server,
  sizeOf,
  small,
  talkOf,
  windowFor,
  withSummarizer,
} from './run-file.js';

withSummarizer();

describe('Everruns from YAML alone', () => {
  const talk = talkOf(40);
  const due = windowFor(talk, 0.9);
  const long = talkOf(120, { output: lines(60) });
  const masking = (words: string) =>
    config(`strategy: observation_masking, observation_masking: { keep_recent_tool_outputs: 10, ${words} }`);
  const rows: readonly Row[] = [
    [
      'auto masks first, and stops where that is enough',
      { files: config('strategy: auto'), talk, window: due },
      ({ used, asked, after }) => {
        expect([used, asked.length]).toEqual(['mask_outputs', 0]);
        const before = outputs(talk);
        expect(outputs(after).slice(-5)).toEqual(before.slice(-5));
        expect(outputs(after)[0]).toMatch(/^\[read src\/part0\.ts → ok, 300 lines, 2\d\d\d bytes.*\]$/);
        expect(after).toHaveLength(talk.length + 1);
      },
    ],
    [
      'auto has the provider compact next',
      { files: config('strategy: auto'), talk: small(400), window: windowFor(small(400), 2) },
      ({ used, asked }) => expect([used, asked.length, server.compactions]).toEqual(['native', 0, 1]),
    ],
    [
      'auto summarizes where the provider fails, in tags',
      {
        files: config('strategy: auto'),
        talk: small(400),
        window: windowFor(small(400), 2),
        faults: { compaction: 400 },
      },
      ({ used, asked, sent }) => {
        expect(used).toBe('summarize');
        expect(asked).not.toHaveLength(0);
        expect(sent).toContain('[CONVERSATION_SUMMARY]');
        expect(sent).toContain('mended');
      },
    ],
    [
      'native asks the provider alone',
      { files: config('strategy: native'), talk, window: due },
      ({ used, asked }) => expect([used, asked.length, server.compactions]).toEqual(['native', 0, 1]),
    ],
    [
      'summarization masks nothing',
      { files: config('strategy: summarization'), talk, window: due },
      ({ used, asked }) => expect([used, asked.length]).toEqual(['summarize', 1]),
    ],
    [
      'observation_masking calls no model, and shows head and tail',
      { files: masking('summary_format: head_tail'), talk, window: due },
      ({ used, asked, after }) => {
        expect([used, asked.length, server.compactions]).toEqual(['mask_outputs', 0, 0]);
        expect(outputs(after).slice(-10)).toEqual(outputs(talk).slice(-10));
        expect(outputs(after)[0]).toMatch(
          /^line 0\nline 1\nline 2\n\.\.\. \(294 lines omitted\) \.\.\.\nline 297/,
        );
      },
    ],
    ['waits for 85 %', { files: config('strategy: auto'), talk, window: windowFor(talk, 0.8) }, nothing],
    [
      'is due at its budget_percent',
      { files: config('strategy: auto, budget_percent: 0.7'), talk, window: windowFor(talk, 0.8) },
      applied,
    ],
    [
      'proactive: false waits for the provider’s refusal, and asks again',
      {
        files: config('proactive: false'),
        talk,
        window: windowFor(talk, 0.88),
        faults: { windows: { 'gpt-5': Math.round(sizeOf(talk) * 0.6) } },
      },
      ({ compacted, events }) => {
        expect(compacted).toMatchObject({ reason: 'request_too_large', status: 'applied' });
        expect(events.at(-1)).toMatchObject({ type: 'call.completed' });
      },
    ],
    [
      'proactive: false does nothing within the window',
      { files: config('proactive: false'), talk, window: windowFor(talk, 0.88) },
      nothing,
    ],
    [
      'proactive: false sends nothing above the window',
      { files: config('proactive: false'), talk, window: due },
      applied,
    ],
    [
      'a cheaper model writes, and is told what to preserve',
      {
        files: config(
          'strategy: summarization, summarization: { model: gpt-5-mini, preserve: [prices], instructions: "Name all ships." }',
        ),
        talk,
        window: due,
      },
      ({ asked, sent }) => {
        expect(asked.map(({ body }) => body.model)).toEqual(['gpt-5-mini']);
        expect(asked[0]?.readable).toMatch(/prices[\s\S]*Name all ships|Name all ships[\s\S]*prices/);
        expect(sent).toContain('mended');
      },
    ],
    [
      'tiers: hot stays, warm is masked, cold is summarized',
      {
        files: config('strategy: summarization, memory_tiers: { hot_messages: 6, warm_messages: 30 }'),
        talk: long,
        window: windowFor(long, 4),
      },
      ({ used, sent, after, asked }) => {
        expect(used).toBe('mask_outputs+summarize');
        expect(asked).not.toHaveLength(0);
        expect(sent).toContain('[CONVERSATION_SUMMARY]');
        // The question is among the six.
        expect(after.slice(-6, -1).map(({ id }) => id)).toEqual(long.slice(-5).map(({ id }) => id));
        const [hot, warm] = [outputs(after).slice(-2), outputs(after).slice(0, -3)];
        expect(hot).toEqual(outputs(long).slice(-2));
        expect(warm.length).toBeGreaterThan(3);
        for (const output of warm) expect(output).toMatch(/^\[read .*\]$/);
      },
    ],
    [
      'infinity_context sends the newest messages, and tells of the others and of recall',
      {
        files:
          'capabilities: [{ ref: infinity_context, config: { context_budget_tokens: 20000, min_recent_messages: 12 } }]',
        talk,
      },
      ({ used, asked, sent, after, kept, tools }) => {
        expect([used, asked.length]).toEqual(['drop_oldest', 0]);
        expect(sizeOf(after)).toBeLessThanOrEqual(20_000);
        expect(kept).toBeGreaterThan(11);
        expect(sent).toMatch(/\[\d+ earlier messages were removed .*recall finds them/);
        expect(tools).toContain('recall');
      },
    ],
    [
      'infinity_context keeps min_recent_messages however large they are',
      {
        files: 'capabilities: [{ ref: infinity_context, config: { context_budget_tokens: 1000 } }]',
        talk,
      },
      ({ kept }) => expect(kept).toBe(10),
    ],
    [
      'infinity_context waits for 100 000 tokens',
      { files: 'capabilities: [infinity_context]', talk },
      nothing,
    ],
    [
      'infinity_context beside compaction is one more trigger of it',
      {
        files: `capabilities:
  - ref: infinity_context
    config: { context_budget_tokens: 20000 }
  - ref: compaction
    config: { strategy: auto, proactive: true }`,
        talk,
      },
      ({ used, sent, tools }) => {
        expect(used).toBe('mask_outputs');
        expect(sent).not.toContain('earlier messages were removed');
        expect(tools).toContain('recall');
      },
    ],
  ];
  it.each(rows)('%s', async (_, setting, effect) => effect(await run(setting)));

  it.each(['strategy: native', 'stages: [native]', 'strategy: summarization'])(
    '%s begins nothing ahead of time in the first answer of a process',
    async (words) => {
      const setting = { files: config(words), talk: small(400), window: windowFor(small(400), 0.75) };
      const { asked } = await run(setting);
      expect(asked.length + server.compactions).toBe(0);
    },
  );

  it.each(['compaction', 'session_history'])('infinity_context stands beside %s', async (other) => {
    const { told, capabilities } = await run({
      files: `capabilities: [infinity_context, ${other}]`,
      talk: [],
    });
    expect(told).toEqual([]);
    expect(capabilities).toEqual(expect.arrayContaining(['infinity_context', other]));
  });

  it('infinity_context has recall find what is no longer sent', async () => {
    const files = 'capabilities: [{ ref: infinity_context, config: { context_budget_tokens: 20000 } }]';
    const talk = talkOf(40).toSpliced(1, 0, assistantMessage('The word of the day is heron.'));
    const calls = { name: 'recall', input: { query: 'word of the day' } };
    const { sent } = await run({ files, talk, faults: { calls } });
    expect(sent).not.toContain('heron');
    expect(server.taken.at(-1)?.readable).toContain('heron');
  });

  it('takes the configuration of infinity_context that Everruns publishes', async () => {
    const published =
      'context_budget_tokens: 100000, min_recent_messages: 10, max_recent_messages: null, keep_first_messages: 0';
    const { told, capabilities } = await run({
      files: `capabilities: [{ ref: infinity_context, config: { ${published} } }]`,
      talk: [],
    });
    expect([told, capabilities]).toEqual([[], expect.arrayContaining(['infinity_context'])]);
  });

  it.each([
    [
      'max_recent_messages: 50',
      'max_recent_messages: must be null, because tokens limit how many messages stay',
    ],
    ['keep_first_messages: 2', 'keep_first_messages: must be 0, because only the first request always stays'],
  ])('refuses %s of infinity_context, and says what differs', async (words, message) => {
    const files = `capabilities: [{ ref: infinity_context, config: { ${words} } }]`;
    await expect(run({ files, talk: [] })).rejects.toThrow(message);
  });

  it('refuses an unknown key of infinity_context where it stands', async () => {
    const files = 'capabilities: [{ ref: infinity_context, config: { context_budget_token: 5 } }]';
    await expect(run({ files, talk: [] })).rejects.toThrow(
      'capabilities[0].config.context_budget_token: unknown key; did you mean context_budget_tokens?',
    );
  });
});
