import { textOf } from '@x/core';
import { describe, expect, it } from 'vitest';
import {
  applied,
  config,
  nothing,
  type Row,
  run,
  sizeOf,
  small,
  talkOf,
  withSummarizer,
} from './run-file.js';

withSummarizer();

describe('AgentScope from YAML alone', () => {
  const preset = (words = '') => config(`preset: agentscope${words}`);
  const talk = talkOf(40);
  const written = talkOf(24, { input: { content: 'x'.repeat(5_000) }, output: 'ok' });
  const large = talkOf(Math.ceil(81_000 / (sizeOf(talkOf(1)) - sizeOf(talkOf(0)))));
  const rows: readonly Row[] = [
    ['waits for its 50th message', { files: preset(), talk: small(24).slice(1) }, nothing],
    ['is due at 50 messages', { files: preset(), talk: small(24) }, applied],
    [
      'waits for 80 000 tokens',
      { files: preset(', trigger_messages: 0'), talk: large.slice(0, -8) },
      nothing,
    ],
    ['is due at 80 000 tokens', { files: preset(', trigger_messages: 0'), talk: large }, applied],
    ['is never due with both 0', { files: config('trigger_messages: 0, trigger_tokens: 0'), talk }, nothing],
    ['keeps 20 messages', { files: preset(), talk }, ({ kept }) => expect(kept).toBe(20)],
    [
      'keeps as many as it is told',
      { files: config('keep_messages: 8'), talk },
      (it) => expect(it.kept).toBe(8),
    ],
    [
      'keeps tokens in place of messages',
      { files: config('keep_tokens: 3000'), talk },
      ({ kept }) => expect([kept > 0, kept < 8]).toEqual([true, true]),
    ],
    [
      'asks in the words of summary_prompt',
      { files: config('trigger_messages: 30, summary_prompt: "Tell it as a ballad. {messages}"'), talk },
      ({ asked, used }) => {
        expect(asked[0]?.readable).toContain('Tell it as a ballad.');
        expect(used).toBe('summarize');
      },
    ],
    [
      'cuts long arguments from 25 messages on',
      { files: config('truncate_args: { max_arg_length: 100 }, trigger_messages: 0'), talk: written },
      ({ used, after }) => {
        expect(used).toBe('truncate_args');
        expect(JSON.stringify(after[1])).toContain('... [truncated] ...');
        expect(after.slice(-20, -1)).toEqual(written.slice(-19));
      },
    ],
    [
      'says how what went is read',
      { files: preset(), talk },
      ({ after }) => {
        const text = after.map(textOf).join('\n');
        expect(text).toContain('gives message 12 whole');
        // No tool can read the log itself.
        expect(text).not.toContain('.log.jsonl');
      },
    ],
  ];
  it.each(rows)('%s', async (_, setting, effect) => effect(await run(setting)));
});
