import { assistantMessage, type Message, type ToolUseBlock, textOf, toolUsesOf, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { compaction } from '../../src/index.js';
import { previewArgs } from '../../src/stages/preview-args.js';
import { truncateArgs } from '../../src/stages/truncate-args.js';
import { at, lines, rounds } from '../build.js';
import { GOOD_SUMMARY, modelOf } from '../models.js';
import { scopeOf, toolScopeOf } from '../scope.js';

const write = (content: string): ToolUseBlock => ({
  type: 'tool_use',
  id: 'new',
  name: 'write_file',
  input: { path: 'src/a.ts', edits: [{ content }] },
});

/** The capability, and a conversation that it has reduced with this configuration. */
async function reduced(config: Parameters<typeof compaction>[0], messages: readonly Message[]) {
  const capability = compaction({ model: null, ...config });
  const scope = scopeOf([...messages, assistantMessage('done'), userMessage('Now the rest.')]);
  expect((await capability.compact?.(scope, {}))?.status).toBe('applied');
  const { state } = scope;
  return {
    context: state.context,
    may: async (call: ToolUseBlock) =>
      (await capability.authorize?.(call, toolScopeOf(scope.workspace, { state }))) ?? 'run',
  };
}

const written = () => rounds(12, () => ({ name: 'write_file', input: { path: 'a', content: lines(900) } }));
const argumentOf = (message: Message) => (at(toolUsesOf(message), 0).input as { content: string }).content;

describe('a model that copies a stub into a call', () => {
  it('is told to write the text itself, where the stub is an argument that was cut', async () => {
    const { context, may } = await reduced(
      { stages: [truncateArgs({ keepMessages: 2 }), 'mask_outputs', 'drop_oldest'] },
      written(),
    );
    const copied = argumentOf(at(context, 0));
    expect(copied).toContain('... [truncated] ...');
    expect(await may(write(copied))).toMatchObject({
      type: 'deny',
      reason: expect.stringContaining('"... [truncated] ..."'),
    });
    expect(await may(write(lines(900)))).toBe('run');
  });

  it('is told so too, where it was pruned, masked or summarized', async () => {
    const pruned = await reduced(
      {
        stages: [previewArgs({ mode: 'compaction', protectPercent: 0.01 }), 'mask_outputs', 'drop_oldest'],
      },
      written(),
    );
    expect(await pruned.may(write(argumentOf(at(pruned.context, 0))))).toMatchObject({ type: 'deny' });

    const masked = await reduced(
      { stages: ['mask_outputs', 'drop_oldest'] },
      rounds(12, () => ({ output: lines(300) })),
    );
    expect(await masked.may(write(textOf(at(masked.context, 1))))).toMatchObject({ type: 'deny' });

    const summarized = await reduced(
      { stages: ['summarize', 'drop_oldest'] },
      rounds(30, () => ({ output: lines(60) })),
    );
    expect(await summarized.may(write(textOf(at(summarized.context, 0))))).toMatchObject({ type: 'deny' });
  });

  it('may read what it likes, and write words that a tool has printed', async () => {
    const say = { name: 'bash', input: { command: 'cat notes' }, output: 'x ... [truncated] ... y' };
    const { may } = await reduced(
      { stages: [truncateArgs({ keepMessages: 2 }), 'mask_outputs', 'drop_oldest'] },
      [...written(), ...rounds(1, () => say)],
    );
    expect(await may(write('x ... [truncated] ... y'))).toBe('run');
    expect(await may(write('[CONVERSATION_SUMMARY]'))).toMatchObject({ type: 'deny' });
    expect(await may({ ...write('[CONVERSATION_SUMMARY]'), name: 'grep_files' })).toBe('run');
  });

  it('may write the words of a cut once a summary stands for whoever said them', async () => {
    const { context, may } = await reduced(
      {
        keep: { messages: 20 },
        model: modelOf(() => GOOD_SUMMARY),
        summary: { record: 0 },
        stages: [truncateArgs({ keepMessages: 2 }), 'summarize', 'drop_oldest'],
      },
      [...rounds(10, () => ({ output: `x ... [truncated] ... y\n${lines(60)}` })), ...rounds(30)],
    );
    expect(
      context.flatMap(({ content }) => (JSON.stringify(content).includes('[truncated]') ? 1 : [])),
    ).toEqual([]);
    expect(await may(write('... [truncated] ...'))).toBe('run');
  });

  it('may do so in a conversation in which nothing was reduced', async () => {
    const scope = toolScopeOf({} as never);
    scope.state.contextMutable().push(userMessage('Write what you like.'));
    expect(await compaction().authorize?.(write('... [truncated] ...'), scope)).toBeUndefined();
  });
});
