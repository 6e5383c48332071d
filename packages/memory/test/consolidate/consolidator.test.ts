import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type AgentEventBody, estimateCounter } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeText } from '../../src/facts/core-text.js';
import { between, merger, modelOf } from '../support/models.js';
import { consolidatorOf } from '../support/parts.js';
import { previousOf, type TestWorkspace, testWorkspace } from '../support/test-context.js';

const scope = { userId: 'alice', agentId: 'coder' };
const prefix = 'users/alice/agents/coder/';
const core = `${prefix}MEMORY.md`;
const note = (day: string) => `${prefix}memory/${day}.md`;

async function textOf(workspace: TestWorkspace, path = core): Promise<string> {
  return Buffer.from(await workspace.read(path)).toString('utf8');
}

/** A memory of many facts, none of which a careless merge may lose. */
const MANY = `# Memory\n${Array.from({ length: 60 }, (_, index) => `- Known: fact-${index}`).join('\n')}\n`;

describe('the watermark', () => {
  it('takes what is new in each note, also in old ones, and nothing twice', async () => {
    const workspace = await testWorkspace();
    const model = merger();
    const consolidator = consolidatorOf({ workspace, model });
    await workspace.write(note('2026-01-01'), '- fact-1\n');
    await workspace.write(note('2026-01-05'), '- fact-5\n');
    expect(await consolidator.consolidate(scope)).toEqual({ status: 'consolidated', lines: 2 });
    // A process that was suspended writes to a day that is long past.
    await workspace.append(note('2026-01-01'), '- fact-2\n<!-- a comment -->\n');
    expect(await consolidator.consolidate(scope)).toEqual({ status: 'consolidated', lines: 1 });
    expect(between(model.prompts[1] ?? '', 'notes')).toBe('n1 (2026-01-01): fact-2');
    expect(await consolidator.consolidate(scope)).toEqual({ status: 'nothing', lines: 0 });
    expect(model.prompts).toHaveLength(2);
  });

  it('takes a note anew that somebody rewrote', async () => {
    const workspace = await testWorkspace();
    const consolidator = consolidatorOf({ workspace, model: merger() });
    await workspace.write(note('2026-01-01'), '- fact-1\n- fact-2\n');
    await consolidator.consolidate(scope);
    await workspace.write(note('2026-01-01'), '- fact-1\n- fact-7\n');
    expect((await consolidator.consolidate(scope)).status).toBe('consolidated');
    expect(await textOf(workspace)).toContain('fact-7');
  });

  it('never skips a line, whatever is appended between and during consolidations', async () => {
    const day = fc.constantFrom('2026-01-01', '2026-01-02', '2026-01-03');
    const step = fc.record({ day, consolidate: fc.boolean(), meanwhile: fc.option(day) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        const workspace = await testWorkspace();
        let said = 0;
        const say = (on: string) => workspace.append(note(on), `- fact-${said++}\n`);
        let meanwhile: string | null = null;
        const merging = merger();
        const model = {
          ...merging,
          generate: async (request: Parameters<typeof merging.generate>[0]) => {
            if (meanwhile !== null) await say(meanwhile);
            return merging.generate(request);
          },
        };
        const consolidator = consolidatorOf({ workspace, model });
        for (const { day: on, consolidate, meanwhile: during } of steps) {
          await say(on);
          meanwhile = during;
          if (consolidate) await consolidator.consolidate(scope);
        }
        meanwhile = null;
        await consolidator.consolidate(scope);
        const found = ((await textOf(workspace)).match(/fact-\d+/g) ?? []).sort();
        expect(found).toEqual(Array.from({ length: said }, (_, index) => `fact-${index}`).sort());
      }),
      { numRuns: 15 },
    );
  });

  it('belongs to one tenant, user and agent alone, whatever their ids', async () => {
    const workspace = await testWorkspace();
    const consolidator = consolidatorOf({ workspace, model: merger() });
    const others = [
      { userId: 'bob', agentId: 'coder' },
      { userId: '../alice' },
      { userId: 'alice/agents/coder' },
      {},
    ];
    await workspace.write(note('2026-01-01'), '- fact-1\n');
    for (const other of others) expect((await consolidator.consolidate(other)).status).toBe('nothing');
    expect((await consolidator.consolidate(scope)).status).toBe('consolidated');
  });
});

describe('an answer', () => {
  const bad: Record<string, Parameters<typeof modelOf>[0]> = {
    blank: () => '  \n',
    'cut off': () => ({ content: [{ type: 'text', text: MANY }], finishReason: 'length' }),
    runaway: () => `# Memory\n${'- fact and fact and fact\n'.repeat(200_000 / 25)}`,
    forgetful: () => '# Memory\n- fact-1\n',
    'an apology': () => "I'm sorry, I cannot help with that.",
    'a tool call': () => ({
      content: [{ type: 'tool_use', id: 'c', name: 'memory_save', input: {} }],
      finishReason: 'tool-calls',
    }),
  };
  it('that fails changes nothing, and the notes are merged by the next', async () => {
    const workspace = await testWorkspace();
    await workspace.write(core, MANY);
    await workspace.write(note('2026-01-01'), '- fact-99\n');
    const down = modelOf(() => {
      throw new Error('out of order');
    });
    await expect(consolidatorOf({ workspace, model: down }).consolidate(scope)).rejects.toThrow(
      'out of order',
    );
    expect(await textOf(workspace)).toBe(MANY);
    const working = consolidatorOf({ workspace, model: merger() });
    expect(await working.consolidate(scope)).toEqual({ status: 'consolidated', lines: 1 });
    expect(await textOf(workspace)).toContain('fact-99');
  });
  for (const [kind, answer] of Object.entries(bad)) {
    it(`that is ${kind} changes nothing, is not asked for again, and is reported`, async () => {
      const workspace = await testWorkspace();
      await workspace.write(core, MANY);
      await workspace.write(note('2026-01-01'), '- fact-99\n');
      const model = modelOf(answer);
      const consolidator = consolidatorOf({ workspace, model });
      const failures: unknown[] = [];
      const emit = (event: AgentEventBody) =>
        void (event.type === 'memory.failed' && failures.push(event.error));
      await consolidator.consolidate(scope, { emit });
      expect(await consolidator.consolidate(scope)).toEqual({ status: 'nothing', lines: 0 });
      expect(failures).toEqual([expect.stringContaining('skips new notes')]);
      expect(model.prompts).toHaveLength(3);
      expect(await textOf(workspace)).toBe(MANY);
      expect(await workspace.stat(previousOf(prefix))).toBeUndefined();
    });
  }

  it('gets one repair, with the reason', async () => {
    const workspace = await testWorkspace();
    await workspace.write(note('2026-01-01'), '- fact-1\n');
    const model = modelOf((_, call) => (call === 1 ? '' : '```\nADD n1: fact-1\n```'));
    await consolidatorOf({ workspace, model }).consolidate(scope);
    expect(model.prompts[1]).toContain('An earlier answer could not be used: it is empty');
    expect(await textOf(workspace)).toBe('## Noted\n\n- fact-1\n');
  });

  it.each([
    ['ADD n9: fact-1', 'names a note that does not exist'],
    ['REPLACE f1 BY n1: fact-1', 'there is no fact f1'],
    ['RETIRE f1 BY n1', 'there is no fact f1'],
    ['ADD n1: I cannot help with that request.', 'does not match the text of its notes'],
    ['- by hand: fact-0\n- fact-1', 'is not an edit'],
  ])('that is %s is refused: %s', async (answer, reason) => {
    const workspace = await testWorkspace();
    await workspace.write(core, '# Memory\n- by hand: fact-0\n');
    await workspace.write(note('2026-01-01'), '- the port is 5433\n');
    const model = modelOf(() => answer);
    await consolidatorOf({ workspace, model }).consolidate(scope);
    expect(model.prompts[1]).toContain(reason);
    expect(await textOf(workspace)).toBe('# Memory\n- by hand: fact-0\n');
  });

  it.each([
    ['1. ADD n1: fact-1', '- fact-0\n- fact-1'],
    ['**REPLACE f1 BY n1:** fact-1', '- fact-1'],
    ['**REPLACE f1 BY n1: fact-1**', '- fact-1'],
    ['REPLACE f1 BY n1: **fact-1**', '- **fact-1**'],
    ['RETIRE f1 BY n1 — note n1 says so', ''],
  ])('may be written as models write lists: %s', async (answer, text) => {
    const workspace = await testWorkspace();
    await workspace.write(note('2026-01-01'), '- fact-0\n');
    const answers = ['ADD n1: fact-0', answer];
    const model = modelOf((_, call) => answers[call - 1] ?? '');
    const consolidator = consolidatorOf({ workspace, model });
    await consolidator.consolidate(scope);
    await workspace.append(note('2026-01-01'), '- fact-1, not fact-0\n');
    await consolidator.consolidate(scope);
    expect(model.prompts).toHaveLength(2);
    expect((await textOf(workspace)).replace('## Noted', '').trim()).toBe(text);
  });

  it('that says that nothing is new leaves the file, and is not asked for again', async () => {
    const workspace = await testWorkspace();
    await workspace.write(core, MANY);
    await workspace.write(note('2026-01-01'), '- fact-1\n');
    const model = modelOf(() => 'NO_CHANGE');
    const consolidator = consolidatorOf({ workspace, model });
    await consolidator.consolidate(scope);
    await consolidator.consolidate(scope);
    expect(model.prompts).toHaveLength(1);
    expect(await textOf(workspace)).toBe(MANY);
  });
});

describe('somebody who edits MEMORY.md meanwhile', () => {
  it.each(['# Memory\n- fact-0\n- by hand: fact-9\n', ''])(
    'loses nothing, nor do the notes: %j',
    async (edit) => {
      const workspace = await testWorkspace();
      await workspace.write(core, '# Memory\n- fact-0\n');
      await workspace.write(note('2026-01-01'), '- fact-1\n');
      const merging = merger();
      const model = {
        ...merging,
        generate: async (request: Parameters<typeof merging.generate>[0]) => {
          await workspace.write(core, edit);
          return merging.generate(request);
        },
      };
      const consolidator = consolidatorOf({ workspace, model });
      expect(await consolidator.consolidate(scope)).toEqual({ status: 'consolidated', lines: 1 });
      const text = await textOf(workspace);
      expect(text.startsWith(edit)).toBe(true);
      expect(text).toContain('- fact-1');
    },
  );

  it('doubles nothing that they save into both, the file that was replaced and the new one', () => {
    expect(mergeText('', 'one\n\ntwo\n', 'one\n\ntwo\nthree\n').match(/one|two|three/g)).toEqual([
      'one',
      'two',
      'three',
    ]);
  });

  it('loses nothing at the last moment either', async () => {
    const workspace = await testWorkspace();
    await workspace.write(core, '# Memory\n- fact-0\n- wrong\n');
    await workspace.write(note('2026-01-01'), '- fact-1\n');
    const sly = new LocalWorkspace(workspace.root);
    const replace = sly.replace.bind(sly);
    let edited = false;
    sly.replace = async (path, kept, data) => {
      // Right before the file is replaced: an editor that holds it open saves into it.
      if (path === core && !edited) {
        edited = true;
        await writeFile(join(workspace.root, core), '# Memory\n- fact-0\n- by hand: fact-9\n');
      }
      return replace(path, kept, data);
    };
    await consolidatorOf({ workspace: sly, model: merger() }).consolidate(scope);
    const text = await textOf(workspace);
    expect(text.match(/fact-\d/g)).toEqual(['fact-0', 'fact-9', 'fact-1']);
    expect(text).not.toContain('wrong');
  });
});

describe('the previous MEMORY.md', () => {
  it('is kept, and can be copied back', async () => {
    const workspace = await testWorkspace();
    const consolidator = consolidatorOf({ workspace, model: merger() });
    for (let day = 1; day <= 3; day++) {
      const date = new Date(Date.UTC(2026, 0, day)).toISOString().slice(0, 10);
      await workspace.write(note(date), `- fact-${day}\n`);
      await consolidator.consolidate(scope);
    }
    await workspace.write(core, await workspace.read(previousOf(prefix)));
    await consolidator.consolidate(scope);
    expect((await textOf(workspace)).match(/fact-\d+/g)).toEqual(['fact-1', 'fact-2']);
  });
});

it('two processes that consolidate at once merge every note exactly once', async () => {
  const workspace = await testWorkspace();
  const expected = [];
  for (let day = 1; day <= 9; day++) {
    await workspace.write(note(`2026-01-0${day}`), `- fact-${day}\n`);
    expected.push(`fact-${day}`);
  }
  const processes = [1, 2, 3].map(() =>
    consolidatorOf({
      workspace: new LocalWorkspace(workspace.root),
      model: { ...merger(), contextWindow: 30 },
    }),
  );
  for (let open = true; open; ) {
    const outcomes = await Promise.all(processes.map((one) => one.consolidate(scope)));
    open = outcomes.some(({ status }) => status === 'conflict');
  }
  await processes[0]?.consolidate(scope);
  expect((await textOf(workspace)).match(/fact-\d+/g)?.sort()).toEqual(expected);
});

describe('without a model', () => {
  it('keeps to the size: the newest survive, and what people wrote', async () => {
    const workspace = await testWorkspace();
    await workspace.write(core, '# Written by hand\nDo not touch this.\n');
    const lines = Array.from({ length: 400 }, (_, index) => `- the port of host ${index} is ${index}\n`);
    await workspace.write(note('2026-01-01'), lines.join(''));
    const consolidator = consolidatorOf({ workspace, maxMemoryTokens: 500 });
    await consolidator.consolidate(scope);
    const text = await textOf(workspace);
    expect(estimateCounter.count(text)).toBeLessThanOrEqual(500);
    expect(text.startsWith('# Written by hand\nDo not touch this.\n')).toBe(true);
    expect(text).toContain('host 399');
    expect(text).not.toContain('host 0 ');
    await workspace.append(note('2026-01-01'), '- the port of HOST 399 is 399.\n');
    await consolidator.consolidate(scope);
    expect((await textOf(workspace)).match(/host 399/gi)).toHaveLength(1);
  });
});
