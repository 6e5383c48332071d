import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { truncate } from 'node:fs/promises';
import { join } from 'node:path';
import {
  AgentState,
  type JsonValue,
  RuntimeContext,
  SessionKey,
  textOf,
  toolResultsOf,
  WorkspaceError,
} from '@x/core';
import { LocalWorkspace, WorkspaceSessionLog } from '@x/core/node';
import { longestPiece } from '@x/test-support';
import { ScriptedModel } from '@x/testkit';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { HarnessAgent, workspaceTools } from '../../src/index.js';
import { scratch } from '../support.js';

function tools(config?: Parameters<typeof workspaceTools>[0], workspace = new LocalWorkspace(scratch())) {
  const capability = workspaceTools(config);
  const run = async (name: string, input: JsonValue, signal = new AbortController().signal) => {
    const tool = capability.tools?.find((candidate) => candidate.definition.name === name);
    if (!tool) throw new Error(`no tool ${name}`);
    const output = await tool.run(input, {
      call: { type: 'tool_use', id: '1', name, input },
      idempotencyKey: 'key',
      runtime: RuntimeContext.empty(),
      state: AgentState.create({ sessionId: 's' }),
      workspace,
      storage: workspace,
      log: new WorkspaceSessionLog(workspace, SessionKey.of('s')),
      signal,
    });
    return textOf(output);
  };
  return { workspace, run };
}

describe('read_file', () => {
  it('reads a page of lines and says how to go on', async () => {
    const { workspace, run } = tools({ defaultLines: 2 });
    await workspace.write('a.txt', 'one\ntwo\nthree\n');
    expect(await run('read_file', { path: 'a.txt' })).toBe(
      '[a.txt, lines 1–2 of 3; go on with offset 3]\none\ntwo',
    );
    expect(await run('read_file', { path: 'a.txt', offset: 3 })).toBe('[a.txt, lines 3–3 of 3]\nthree');
    expect(await run('read_file', { path: 'a.txt', offset: 9 })).toContain('there is no line 9');
  });

  it('reads any file whole by following its own directions, within the limit at every step', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: 'grapheme', maxLength: 700 }), { minLength: 1, maxLength: 12 }),
        async (lines) => {
          const clean = lines.map((line) => line.replaceAll('\n', ' '));
          if (clean.at(-1) === '') clean.push('end');
          const { workspace, run } = tools({ maxReadChars: 200, defaultLines: 3 });
          await workspace.write('f', clean.join('\n'));
          let text = '';
          let next: { offset: number; charOffset: number } | undefined = { offset: 1, charOffset: 0 };
          while (next) {
            const page: string = await run('read_file', { path: 'f', ...next });
            const end = page.indexOf('\n');
            const [head, body] = [page.slice(0, end), page.slice(end + 1)];
            expect(body.length).toBeLessThanOrEqual(200);
            const cut = /offset (\d+), charOffset (\d+)\]$/.exec(head);
            const more = /go on with offset (\d+)\]$/.exec(head);
            text += body + (cut ? '' : '\n');
            if (cut) next = { offset: Number(cut[1]), charOffset: Number(cut[2]) };
            else next = more ? { offset: Number(more[1]), charOffset: 0 } : undefined;
          }
          expect(text).toBe(`${clean.join('\n')}\n`);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('reads no more of a file of 600 MB than a page needs, a chunk at a time', async () => {
    const { workspace, run } = tools({ defaultLines: 2 });
    await workspace.write('big', 'first €\nsecond\n');
    // A sparse file: one line of zeros fills it up.
    await truncate(join(workspace.root, 'big'), 600 * 2 ** 20);
    const ranges: number[] = [];
    const read = workspace.read.bind(workspace);
    workspace.read = (path, range) => {
      ranges.push(range?.length ?? Number.POSITIVE_INFINITY);
      return read(path, range);
    };
    expect(await run('read_file', { path: 'big' })).toBe(
      '[big, lines 1–2 of 3 or more; go on with offset 3]\nfirst €\nsecond',
    );
    expect(await run('read_file', { path: 'big', offset: 3, limit: 1 })).toContain(
      'line 3 is cut at character',
    );
    expect(Math.max(...ranges)).toBeLessThanOrEqual(2 ** 20);
    expect(ranges.length).toBeLessThan(32);
  });

  it('reads on across chunks, whatever they cut apart', async () => {
    const { workspace, run } = tools({ defaultLines: 1 });
    const long = '€'.repeat(400_000);
    await workspace.write('f', `${long}\n${long}x\nend`);
    expect(await run('read_file', { path: 'f', offset: 2, charOffset: 399_998 })).toBe(
      '[f, lines 2–2 of 3; go on with offset 3]\n€€x',
    );
    expect(await run('read_file', { path: 'f', offset: 3 })).toBe('[f, lines 3–3 of 3]\nend');
  });

  it('never leaves the workspace', async () => {
    const { run } = tools();
    for (const path of ['../x', 'a/../../x', 'a\0b']) {
      await expect(run('read_file', { path })).rejects.toMatchObject({ name: 'WorkspaceError' });
    }
  });
});

describe('write_file and edit_file', () => {
  it('writes, then edits exactly one place', async () => {
    const { workspace, run } = tools();
    expect(await run('write_file', { path: 'd/a.txt', content: 'x = 1\ny = 1\n' })).toContain(
      'Created d/a.txt',
    );
    await expect(run('edit_file', { path: 'd/a.txt', oldText: '1', newText: '2' })).rejects.toThrow(
      'occurs 2 times',
    );
    await expect(run('edit_file', { path: 'd/a.txt', oldText: 'z', newText: '2' })).rejects.toThrow(
      'does not occur',
    );
    await run('edit_file', { path: 'd/a.txt', oldText: 'x = 1', newText: "x = '$&'" });
    expect(Buffer.from(await workspace.read('d/a.txt')).toString()).toBe("x = '$&'\ny = 1\n");
    await run('edit_file', { path: 'd/a.txt', oldText: ' = ', newText: '=', replaceAll: true });
    expect(Buffer.from(await workspace.read('d/a.txt')).toString()).toBe("x='$&'\ny=1\n");
  });
});

describe('list_files, glob_files and grep_files', () => {
  const filled = async (config?: Parameters<typeof workspaceTools>[0]) => {
    const made = tools(config);
    for (const path of ['src/a.ts', 'src/b/c.ts', 'src/b/c.md', 'node_modules/m/i.ts']) {
      await made.workspace.write(path, `// ${path}\nexport const Name = 1;\n`);
    }
    return made;
  };

  it('go into no directory again that a link leads back to', async () => {
    const root = scratch();
    const { workspace, run } = tools({}, new LocalWorkspace(root));
    await workspace.write('src/a.ts', 'x');
    await workspace.write('lib/b.ts', 'x');
    for (const [link, target] of [
      ['loop', '.'],
      ['src/lib', '../lib'],
      ['lib/src', '../src'],
    ] as const)
      symlinkSync(target, join(root, link));
    // What is walked in its own place is not walked again by a link that comes later.
    const found = 'lib/b.ts\nlib/src/a.ts\nsrc/a.ts';
    const again =
      '\n[not searched again, because a link leads to a directory that is searched already: "lib/src/lib" → "lib", "loop" → ".", "src/lib" → "lib"]';
    expect(await run('glob_files', { pattern: '**/*.ts' })).toBe(found + again);
    expect(await run('grep_files', { pattern: 'x' })).toBe(found.replaceAll(/$/gm, ':1: x') + again);
    expect(await run('list_files', { recursive: true })).toContain('loop/\n');
  });

  it('walk each directory once by links, however many ways lead there, and stop when told to', async () => {
    const root = scratch();
    const { workspace, run } = tools({}, new LocalWorkspace(root));
    for (let level = 0; level < 40; level++) {
      await workspace.write(`d${level}/f.txt`, 'needle');
      for (const link of level === 39 ? [] : ['x', 'y'])
        symlinkSync(`../d${level + 1}`, join(root, `d${level}`, link));
    }
    const found = await run('glob_files', { pattern: '**/f.txt' });
    expect(found.split('\n').length).toBeLessThanOrEqual(80);
    for (let level = 0; level < 40; level++)
      expect(found).toMatch(new RegExp(`^(.*/)?d${level}/f\\.txt$`, 'm'));
    for (const [name, input] of [
      ['glob_files', { pattern: '**' }],
      ['grep_files', { pattern: 'none' }],
      ['list_files', { recursive: true }],
    ] as const) {
      await expect(run(name, input, AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop');
    }
  });

  it.skipIf(process.platform === 'win32')('pass over names that are no paths, and say which', async () => {
    const root = scratch();
    const { workspace, run } = tools({}, new LocalWorkspace(root));
    await workspace.write('src/a.txt', 'needle');
    mkdirSync(join(root, 'a\\b'));
    writeFileSync(join(root, 'src', 'x\\y.txt'), 'needle');
    const told = /\n\[not searched, because it cannot be read: "a\\\\b"/;
    expect(await run('list_files', { recursive: true })).toMatch(told);
    expect(await run('glob_files', { pattern: '**/a.txt' })).toMatch(told);
    const grep = await run('grep_files', { pattern: 'needle' });
    expect(grep).toMatch(/^src\/a\.txt:1: needle\n/);
    expect(grep).toContain('"src/x\\\\y.txt"');
    await expect(run('grep_files', { pattern: 'needle', path: 'a\\b' })).rejects.toThrow(/backslash/);
  });

  it.each([
    ['list_files', { recursive: true }],
    ['glob_files', { pattern: '**/*.ts' }],
  ])(
    'let others have their turn among many files, also where no disk is waited for: %s',
    async (name, input) => {
      const { workspace, run } = tools({ maxEntries: 1_000_000 });
      let count = 1_000;
      vi.spyOn(workspace, 'list').mockImplementation(async function* () {
        for (let at = 0; at < count; at++) yield { path: `f${at}.ts`, type: 'file', size: at } as const;
      } as typeof workspace.list);
      // Code that has not run yet is slow.
      await run(name, input);
      count = 200_000;
      expect(await longestPiece(() => run(name, input))).toBeLessThan(0.5);
    },
  );

  it('hold nobody up with many searches of a file of short lines, and name larger files, which edits refuse', async () => {
    const { workspace, run } = tools();
    await workspace.write('lines', '\n'.repeat(1_500_000));
    const search = { pattern: 'x', path: 'lines' };
    await run('grep_files', search);
    const all = () => Promise.all(Array.from({ length: 10 }, () => run('grep_files', search)));
    expect(await longestPiece(all)).toBeLessThan(0.5);
    await truncate(join(workspace.root, 'lines'), 10_000_001);
    const named = '[not searched, because it has more than 10000000 bytes: "lines"]';
    expect(await run('grep_files', search)).toContain(named);
    expect(await run('grep_files', { pattern: 'x' })).toContain(named);
    expect(await run('grep_files', { pattern: 'x', glob: '*.ts' })).not.toContain(named);
    const edit = { path: 'lines', oldText: 'x', newText: 'y' };
    await expect(run('edit_file', edit)).rejects.toThrow('has more than 10000000 bytes');
  });

  it('fail where the store of the files does, and answer nothing as if that were all', async () => {
    const { workspace, run } = await filled();
    const failed = new WorkspaceError('workspace_io', 'src/b', 'The server is gone.');
    const list = workspace.list.bind(workspace);
    vi.spyOn(workspace, 'list').mockImplementation((path) => {
      if (path === 'src/b') throw failed;
      return list(path);
    });
    for (const [name, input] of [
      ['list_files', { recursive: true }],
      ['glob_files', { pattern: '**' }],
      ['grep_files', { pattern: 'Name' }],
    ] as const) {
      await expect(run(name, input)).rejects.toThrow('The server is gone.');
    }
  });

  it('lists one level, or all of them', async () => {
    const { run } = await filled();
    expect(await run('list_files', {})).toBe('node_modules/\nsrc/');
    expect(await run('list_files', { path: 'src', recursive: true })).toMatch(
      /^src\/a\.ts \d+\nsrc\/b\/\nsrc\/b\/c\.md/,
    );
    expect(await run('list_files', { path: 'none' })).toContain('is empty or does not exist');
  });

  it('finds by pattern and steps over what is ignored', async () => {
    const { run } = await filled();
    expect(await run('glob_files', { pattern: '**/*.ts' })).toBe('src/a.ts\nsrc/b/c.ts');
    expect(await run('glob_files', { pattern: '*.ts', path: 'src' })).toBe('src/a.ts');
    expect(await run('glob_files', { pattern: '*.rs' })).toContain('no file matches');
  });

  it('searches lines, and stops at its limit', async () => {
    const { run } = await filled({ maxMatches: 2 });
    expect(await run('grep_files', { pattern: 'name', ignoreCase: true, glob: '*.md' })).toBe(
      'src/b/c.md:2: export const Name = 1;',
    );
    const lines = (await run('grep_files', { pattern: 'Name' })).split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[2]).toContain('only the first 2 matches');
  });

  it('refuses a pattern that the engine cannot read, or that is too large', async () => {
    const { run } = await filled();
    for (const pattern of ['(', '(?=a)b', '(a)\\1']) {
      await expect(run('grep_files', { pattern })).rejects.toThrow(/pattern: .*use RE2 syntax/s);
    }
    await expect(run('grep_files', { pattern: '(a|b|cc|dd){900}' })).rejects.toThrow('too large');
    await expect(run('glob_files', { pattern: '[a' })).rejects.toThrow('pattern');
  });

  it.each([
    ['**/*.ts', ['a.ts', 'src/.b.ts', 'src/x/c.ts']],
    ['src/**', ['src/.b.ts', 'src/x/c.ts', 'src/x/d.{md}']],
    ['./src/*.ts', ['src/.b.ts']],
    ['src/?/[!d]*', ['src/x/c.ts']],
    ['**/[a-c].ts', ['a.ts', 'src/x/c.ts']],
    ['{a.ts,src/x/{c,e}.ts}', ['a.ts', 'src/x/c.ts']],
    ['**/d.\\{md\\}', ['src/x/d.{md}']],
    ['a,b}', ['a,b}']],
  ])('finds files by the glob %s', async (pattern, found) => {
    const { workspace, run } = tools();
    for (const path of ['a.ts', 'a,b}', 'src/.b.ts', 'src/x/c.ts', 'src/x/d.{md}'])
      await workspace.write(path, '');
    expect((await run('glob_files', { pattern })).split('\n')).toEqual(found);
  });

  it('search hostile names and lines of 100 000 characters without a standstill', async () => {
    const { workspace, run } = await filled();
    const hostile = `${'ab'.repeat(50_000)}!`;
    await workspace.write('evil.txt', hostile);
    await workspace.write(`${'a'.repeat(200)}b`, '');
    for (const input of [
      { pattern: '^(a+b*)+$' },
      { pattern: '(?:a|ab|b|ba|aba){150}\\d' },
      { pattern: 'x', glob: `${'*a'.repeat(400)}*c` },
    ]) {
      const before = process.cpuUsage();
      await run('grep_files', input);
      const { user, system } = process.cpuUsage(before);
      expect((user + system) / 1_000, input.pattern).toBeLessThan(2_000);
    }
    expect(
      await run('grep_files', { pattern: `${'(?:a|ab|b|ba|aba)'.repeat(50)}!`, path: 'evil.txt' }),
    ).toContain('[searched only at the start of long lines: evil.txt]');
  });
});

it.each([{}, { userId: 'alice' }])(
  'searches at the root find the same in every call, and nothing of what the harness keeps (%j)',
  async (user) => {
    const context = RuntimeContext.of({ ...user, sessionId: 's' });
    const search = {
      toolCalls: [
        { name: 'grep_files', input: { pattern: 'needle' } },
        { name: 'glob_files', input: { pattern: '**' } },
        { name: 'list_files', input: {} },
      ],
    };
    const model = new ScriptedModel([search, { text: 'One needle.' }, search, { text: 'One needle.' }]);
    const agent = HarnessAgent.builder().model(model).workspace(scratch()).use(workspaceTools()).build();
    await agent.files(context).write('hay/stack.txt', 'hay\nneedle\nhay\n');
    await agent.call('Find the needle', context);
    await agent.call('Find the needle again', context);
    const results = model.requests.at(-1)?.messages.flatMap((message) => toolResultsOf(message)) ?? [];
    const texts = results.map((block) => textOf([block]));
    expect(texts).toHaveLength(6);
    expect(texts.slice(3)).toEqual(texts.slice(0, 3));
    expect(texts[0]).toContain('hay/stack.txt');
    expect(texts.join()).not.toMatch(/\.x|log\.jsonl|sessions/);
    await agent.close();
  },
);
