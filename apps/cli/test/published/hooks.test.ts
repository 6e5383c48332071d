import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Run, run, talkOf, windowFor, withSummarizer } from './run-file.js';

withSummarizer();

let place: string;
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'x-hooks-'));
});
afterEach(() => rmSync(place, { recursive: true, force: true, maxRetries: 20 }));

/** What the hooks were told, one after the other. */
const heard = () =>
  readFileSync(join(place, 'heard'), 'utf8')
    .trim()
    .split('\n')
    .map((line): Readonly<Record<string, unknown>> => JSON.parse(line));

const warnings = ({ events }: Run) =>
  events.flatMap((event) => (event.type === 'warning' && event.source === 'hooks' ? event.message : []));

const talk = talkOf(40);
const due = { talk, window: windowFor(talk, 0.9) };
const compaction = 'features: { compaction: { preset: aura } }';
const before = (line: string) => `${compaction}\nhooks: { before_compaction: ${JSON.stringify(line)} }`;

describe('hooks from YAML alone', () => {
  it('run commands beside the file, which read each event', async () => {
    const files = {
      'agent.yaml': `${compaction}\nhooks:\n  before_compaction: sh hook.sh\n  after_compaction: sh hook.sh`,
      'hook.sh': `cat >> ${place}/heard; echo >> ${place}/heard`,
    };
    const taken = await run({ files, ...due });
    expect(warnings(taken)).toEqual([]);
    const told = heard();
    expect(told.map(({ event }) => event)).toEqual(['before_compaction', 'after_compaction']);
    const facts = Object.fromEntries(told.map((one) => [one.event, one]));
    expect(facts.before_compaction).toMatchObject({
      session_id: 's',
      forced: false,
      message_count: talk.length + 1,
      keep_last: 10,
    });
    expect(facts.after_compaction).toMatchObject({ success: true, status: 'applied' });
  });

  it('skip a compaction', async () => {
    const { compacted } = await run({ files: before(`echo '{"skip": true}'`), ...due });
    expect([compacted?.status, compacted?.message]).toEqual([
      'skipped',
      'the beforeCompaction hook skipped the compaction',
    ]);
  });

  it('tell a summary what to keep', async () => {
    const { asked } = await run({ files: before(`echo '{"instructions": "Keep ticket 4711."}'`), ...due });
    expect(asked[0]?.readable).toContain('Keep ticket 4711.');
  });

  it.each([
    [`echo '{"skip": true}'; echo broken >&2; exit 3`, /before_compaction ended with exit 3, .*: broken$/],
    ['echo skip', /before_compaction printed invalid output; print/],
    [`echo '{"skipp": true}'`, /before_compaction printed invalid output; print/],
  ])('that fail are told, and hold nothing up: %s', async (line, words) => {
    const taken = await run({ files: before(line), ...due });
    expect(taken.compacted?.status).toBe('applied');
    expect(warnings(taken)).toEqual([expect.stringMatching(words)]);
  });

  it('are killed when their time is over', async () => {
    const files = `${compaction}\nhooks: { before_compaction: sleep 60, timeout_ms: 100 }`;
    const taken = await run({ files, ...due });
    expect(taken.compacted?.status).toBe('applied');
    expect(warnings(taken)).toEqual([expect.stringContaining('timed out after 100 ms and was killed')]);
  });

  it.each([
    ['', ''],
    [', pass_environment: [OPENAI_API_KEY]', 'secret'],
  ])('see no secrets of this process but those that they are passed: %s', async (more, passed) => {
    const files = `${compaction}\nhooks: { after_compaction: 'echo "{\\"key\\": \\"$OPENAI_API_KEY\\"}" >> ${place}/heard'${more} }`;
    await run({ files, ...due });
    expect(heard().map(({ key }) => key)).toEqual([passed]);
  });

  it.each([
    [
      'hooks: { before_compact: "true" }',
      'hooks.before_compact: unknown key; did you mean before_compaction?',
    ],
    ['hooks: { after_compaction: "" }', 'hooks.after_compaction'],
    ['hooks: { after_compaction: [] }', 'hooks.after_compaction'],
  ])('are refused with their path: %s', async (files, message) => {
    await expect(run({ files, talk: [] })).rejects.toThrow(message);
  });

  it('of a compaction that is not there are told when the file is opened', async () => {
    const { told } = await run({ files: 'hooks: { before_compaction: "true" }', talk: [] });
    expect(told).toContainEqual(expect.stringContaining('hooks.before_compaction does nothing'));
  });
});

describe('native_compaction: auto that nothing uses is told when the file is opened', () => {
  it.each([
    ['preset: aura', /no stage uses it.*Preset aura has no such stage: leave the preset out/],
    ['preset: agentscope', /no stage uses it.*Preset agentscope has no such stage/],
    ['preset: everruns, strategy: summarization', /no stage uses it.*strategy: auto or native/],
    ['stages: [summarize]', /no stage uses it.*Add native to the stages/],
    ['preset: everruns', undefined],
    ['model: null', undefined],
    ['keep: { messages: 10 }', undefined],
  ])('with %s', async (words, message) => {
    const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    await run({ files: `features: { compaction: { ${words} } }`, talk: [] });
    const told = emitWarning.mock.calls.map(([warning]) => String(warning));
    emitWarning.mockRestore();
    expect(told.filter((line) => line.includes('native_compaction: auto'))).toEqual(
      message ? [expect.stringMatching(message)] : [],
    );
  });

  it('without a compaction', async () => {
    const { told } = await run({ files: '', talk: [] });
    expect(told).toEqual([expect.stringContaining('native_compaction: auto does nothing')]);
  });
});
