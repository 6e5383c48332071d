// Facts have a life: who worded them, where they were said, what replaced them, and that they stay forgotten.
import { appendFile, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SessionKey, userMessage } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { openBeside } from '@x/test-support';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { pickNoted } from '../src/facts/find-facts.js';
import type { MemoryState } from '../src/facts/memory-state.js';
import { MemoryIndex, MemoryService } from '../src/index.js';
import type { MemoryServiceOptions } from '../src/settings.js';
import { ManualClock } from './support/manual-clock.js';
import { between, merger, modelOf, scribe, withoutMarks } from './support/models.js';
import { consolidatorOf, flusherOf } from './support/parts.js';
import { SIZE } from './support/size.js';
import {
  logSession,
  previousOf,
  readOnly,
  type TestWorkspace,
  temporaryDirectory,
  testWorkspace,
} from './support/test-context.js';

const scope = { userId: 'alice', agentId: 'coder' };
const prefix = 'users/alice/agents/coder/';
const core = `${prefix}MEMORY.md`;
const note = (day: string) => `${prefix}memory/${day}.md`;
const DAY_MS = 86_400_000;

const textOf = async (workspace: TestWorkspace, path = core) =>
  Buffer.from(await workspace.read(path)).toString('utf8');

function serviceIn(workspace: TestWorkspace, options: Partial<MemoryServiceOptions> = {}): MemoryService {
  const service = new MemoryService({ workspace, maintenance: false, ...options });
  onTestFinished(() => service.close());
  return service;
}

/** All text below a place, whatever file it is in. */
async function everythingIn(workspace: TestWorkspace, place = ''): Promise<string> {
  const texts: string[] = [];
  for await (const { path, type } of workspace.list(place, { recursive: true })) {
    if (type === 'file') texts.push(await textOf(workspace, path));
  }
  return texts.join('\n');
}

describe('what a person wrote', () => {
  const HANDWRITTEN = `# Alice\n\nShe is left-handed.\n\n${Array.from({ length: 60 }, (_, at) => `- by hand: rule ${at} of the port`).join('\n')}\n`;
  const APOLOGIES = [
    '- I cannot help with that request.',
    HANDWRITTEN.replaceAll('by hand', 'sorry'),
    HANDWRITTEN.slice(0, HANDWRITTEN.length / 2),
    'RETIRE f1 BY n1',
    'REPLACE f1 BY n1: the port is 1',
    'ADD n1: the port is 1\nRETIRE f1 BY n1\nRETIRE f2 BY n1',
    '# Memory\n',
    'NO_CHANGE',
    'ADD n1: # Alice',
    'ADD n1: <memory>the port</memory> and "quotes"',
  ];

  it('stands after a hundred answers of a model that wants it gone', async () => {
    const workspace = await testWorkspace();
    await workspace.write(core, HANDWRITTEN);
    const model = modelOf((_, call) => APOLOGIES[call % APOLOGIES.length] ?? '');
    const consolidator = consolidatorOf({ workspace, model });
    for (let round = 0; round < SIZE.answers; round++) {
      await workspace.append(note('2026-01-01'), `- the port of host ${round} is ${round}\n`);
      await consolidator.consolidate(scope).catch(() => {});
    }
    expect((await textOf(workspace)).startsWith(HANDWRITTEN)).toBe(true);
  }, 120_000);

  it('stays theirs when a model says the same, and then wants it gone', async () => {
    const workspace = await testWorkspace();
    await workspace.write(core, HANDWRITTEN);
    const model = modelOf((_, call) =>
      call === 1 ? 'ADD n1: by hand: rule 3 of the port' : 'RETIRE f1 BY n1',
    );
    const consolidator = consolidatorOf({ workspace, model });
    for (const round of [1, 2]) {
      await workspace.append(note('2026-01-01'), `- the port of host ${round} follows rule 3\n`);
      await consolidator.consolidate(scope).catch(() => {});
    }
    expect(await textOf(workspace)).toBe(HANDWRITTEN);
  });

  it('below ## Noted stays as well, whatever it is, through merges without a model', async () => {
    const workspace = await testWorkspace();
    const text = '# Me\n\n## Noted\n\nA paragraph.\n\n1. numbered\n\n| a | b |\n| - | - |\n\n- by hand\n';
    const behind = '\n## Behind\n\nAnother paragraph.\n';
    await workspace.write(core, `${text}${behind}`);
    await workspace.write(note('2026-01-01'), '- Call me Ada\n');
    await consolidatorOf({ workspace, model: null }).consolidate(scope);
    expect(await textOf(workspace)).toBe(`${text}- Call me Ada\n${behind}`);
  });

  it('is in the file or a version, however many lines are appended during merges', async () => {
    const workspace = await testWorkspace();
    await workspace.write(core, '# Memory\n- start\n');
    const consolidator = consolidatorOf({ workspace, model: null, maxMemoryTokens: 50_000 });
    let merging = true;
    const person = (async () => {
      let said = 0;
      for (; (merging || said < SIZE.edits / 4) && said < SIZE.edits; said++) {
        await appendFile(join(workspace.root, core), `- line ${said} of a person\n`);
        await new Promise((resolve) => setImmediate(resolve));
      }
      return said;
    })();
    for (let round = 0; round < 40; round++) {
      await workspace.append(note('2026-01-01'), `- host ${round} has port ${round}\n`);
      await consolidator.consolidate(scope);
    }
    merging = false;
    const said = await person;
    const all = await everythingIn(workspace, prefix);
    for (let at = 0; at < said; at++) expect(all).toContain(`- line ${at} of a person\n`);
    const inFile = new Set((await textOf(workspace)).match(/line \d+ of/g));
    expect(inFile.size).toBe(said);
  }, 120_000);

  it.each([
    ['appended', (file: string, line: string) => appendFile(file, line)],
    [
      'saved by an editor that renames',
      async (file: string, line: string) => {
        await writeFile(`${file}.swp`, `${await readFile(file, 'utf8')}${line}`);
        await rename(`${file}.swp`, file);
      },
    ],
  ])('is in the file when a line is %s at each of many replacements in a row', async (_, saveLine) => {
    const { root } = await testWorkspace();
    let said = 0;
    const interrupt = async (path: string) => {
      if (path === core && said < 50) await saveLine(join(root, core), `- line ${said++} of a person\n`);
    };
    class Interrupted extends LocalWorkspace {
      override async write(...parameters: Parameters<TestWorkspace['write']>) {
        await interrupt(parameters[0]);
        return super.write(...parameters);
      }
      override async replace(...parameters: Parameters<LocalWorkspace['replace']>) {
        await interrupt(parameters[0]);
        return super.replace(...parameters);
      }
    }
    const workspace = new Interrupted(root);
    await workspace.append(core, '# Memory\n- start\n');
    await workspace.append(note('2026-01-01'), '- a host has a port\n');
    await consolidatorOf({ workspace, model: null }).consolidate(scope);
    expect(said).toBeGreaterThan(1);
    const text = await textOf(workspace);
    const lines = Array.from({ length: said }, (_, number) => `line ${number} of`);
    expect(text.match(/line \d+ of/g)?.sort()).toEqual(lines.sort());
    expect(text).toContain('- a host has a port\n');
  });
});

describe('a merge', () => {
  it('takes place although another session saves during the answer, and keeps what that saved', async () => {
    const workspace = await testWorkspace();
    const service = serviceIn(workspace);
    await workspace.write(note('2026-01-01'), '- fact-1\n');
    const merging = merger();
    const model = {
      ...merging,
      generate: async (request: Parameters<typeof merging.generate>[0]) => {
        await service.save(scope, 'fact-2');
        return merging.generate(request);
      },
    };
    const outcome = await service.consolidate(scope, { model, now: true });
    expect(outcome.status).toBe('consolidated');
    expect((await textOf(workspace)).match(/fact-\d/g)?.sort()).toEqual(['fact-1', 'fact-2']);
  });

  it('is put off by no save, however often one comes', async () => {
    const workspace = await testWorkspace();
    const clock = new ManualClock(Date.parse('2026-01-02T00:00:00Z'));
    const service = serviceIn(workspace, { clock });
    await workspace.write(note('2026-01-01'), '- fact-1\n');
    for (let minute = 0; minute < 60; minute += 20) {
      await service.save(scope, `It is minute ${minute}`);
      await clock.pass(20 * 60_000);
    }
    expect((await service.consolidate(scope)).status).toBe('consolidated');
  });

  it('brings nothing back that a person deleted, and takes over what they added to a note', async () => {
    const workspace = await testWorkspace();
    const consolidator = consolidatorOf({ workspace, model: null });
    await workspace.write(note('2026-01-01'), '- lives at 1 Main Street\n- owns a dog\n');
    await consolidator.consolidate(scope);
    await workspace.write(core, (await textOf(workspace)).replace('- lives at 1 Main Street\n', ''));
    await workspace.write(note('2026-01-01'), '- lives at 1 Main Street\n- likes tea\n- owns a dog\n');
    await consolidator.consolidate(scope);
    expect(await textOf(workspace)).toBe('## Noted\n\n- owns a dog\n- likes tea\n');
  });

  it('retires a fact that another replaces, and keeps it readable', async () => {
    const workspace = await testWorkspace();
    const model = modelOf((prompt) => {
      const fact = /^(f\d+): .*tabs/m.exec(between(prompt, 'memory'))?.[1];
      return fact === undefined ? 'ADD n1: I prefer tabs' : `REPLACE ${fact} BY n1: I prefer spaces now`;
    });
    const consolidator = consolidatorOf({ workspace, model });
    await workspace.write(note('2026-01-01'), '- I prefer tabs\n');
    await consolidator.consolidate(scope);
    await workspace.write(note('2026-02-01'), '- I prefer spaces now\n');
    await consolidator.consolidate(scope);
    expect(await textOf(workspace)).toBe('## Noted\n\n- I prefer spaces now\n');
    expect(await textOf(workspace, `${prefix}memory/retired.md`)).toMatch(
      /^- I prefer tabs \(2026-01-01 to \d{4}-\d\d-\d\d; now: I prefer spaces now\)\n$/,
    );
  });

  it('maintains a scope that has a MEMORY.md alone', async () => {
    const workspace = await testWorkspace();
    await workspace.write('users/carol/MEMORY.md', '- by hand\n');
    expect((await serviceIn(workspace).maintain()).scopes).toBe(1);
  });
});

describe('what counts as a fact', () => {
  it('is a bullet outside of fenced code, with what is nested below it', async () => {
    const workspace = await testWorkspace();
    await workspace.write(
      note('2026-01-01'),
      '# Plan\n\nA paragraph\n\n```sh\n- x\n# y\n```\n\n| a | b |\n| - | - |\n\n- Servers:\n  - alpha\n\n  - beta\n- Likes tea\n```\n- Owns a dog\n',
    );
    await consolidatorOf({ workspace, model: null }).consolidate(scope);
    const facts = ['- Servers: - alpha - beta', '- Likes tea', '- Owns a dog'];
    expect(await textOf(workspace)).toBe(`## Noted\n\n${facts.join('\n')}\n`);
  });

  it('is no item of the YAML at the top, no rule and nothing in a comment', async () => {
    const workspace = await testWorkspace();
    const none = '---\ntags:\n- a\n---\n\n- - -\n\n* * *\n\n<!--\n- hidden\n-->\n\n';
    await workspace.write(core, `${none}- by hand\n`);
    const service = serviceIn(workspace);
    await service.save(scope, 'Likes tea');
    expect((await service.facts(scope)).map(({ text }) => text)).toEqual(['by hand', 'Likes tea']);
  });

  it('leaves code below ## Noted whole, and forgets a bullet with what is nested below it', async () => {
    const workspace = await testWorkspace();
    const service = serviceIn(workspace);
    const code = '## Noted\n\n- Deploy:\n  - first build\n\n```sh\n# a comment\n- no fact\n```\n';
    await workspace.write(core, code);
    await service.save(scope, 'Likes tea');
    expect(await textOf(workspace)).toBe(`${code}- Likes tea\n`);
    expect((await service.forget(scope, 'build', { by: 'person' })).status).toBe('done');
    expect((await service.forget(scope, 'no fact', { by: 'person' })).status).toBe('missing');
    expect(await textOf(workspace)).toBe(`${code.replace(/- Deploy:\n.*\n/, '')}- Likes tea\n`);
  });

  it('is told from others by the case of names in backticks alone', async () => {
    const service = serviceIn(await testWorkspace());
    const said: string[] = [];
    for (const text of ['The target is `Build`', 'The target is `build`', 'the TARGET is `Build`.'])
      said.push((await service.save(scope, text)).status);
    expect(said).toEqual(['done', 'done', 'known']);
    expect(await service.forget(scope, 'build')).toMatchObject({ status: 'ambiguous' });
    expect((await service.forget(scope, 'The target is `build`')).status).toBe('done');
    expect((await service.facts(scope)).map(({ text }) => text)).toEqual(['The target is `Build`']);
  });

  it('stays whose it was when the file of what is known was lost', async () => {
    const workspace = await testWorkspace();
    await workspace.write(core, '- by hand\n');
    const service = serviceIn(workspace);
    for (const text of ['Likes tea', 'Likes rum', 'Likes gin']) await service.save(scope, text);
    expect((await service.forget(scope, 'rum')).status).toBe('done');
    await service.save(scope, 'Likes beer');
    await workspace.append(note('2026-01-01'), '- Likes rum\n');
    await workspace.delete(`${prefix}memory/.consolidation_state`);
    await service.consolidate(scope, { now: true });
    const authors = (await service.facts(scope)).map(({ text, author }) => [text, author]);
    expect(authors.slice(0, 3)).toEqual([
      ['by hand', 'person'],
      ['Likes tea', 'model'],
      ['Likes gin', 'model'],
    ]);
    expect(authors.map(([text]) => text)).not.toContain('Likes rum');
  });

  it('is found in its note when an editor saved an older MEMORY.md over it, and is heard again', async () => {
    const workspace = await testWorkspace();
    const service = serviceIn(workspace);
    await service.save(scope, 'Likes tea');
    const open = await textOf(workspace);
    await service.save(scope, 'Owns a dog');
    await workspace.write(core, `${open}- by hand\n`);
    await service.consolidate(scope, { now: true });
    expect(await textOf(workspace)).toBe(`${open}- by hand\n`);
    const [hit] = (await service.search(scope, 'dog')).hits;
    expect(hit?.content).toBe('- Owns a dog');
    expect((await service.save(scope, 'Owns a dog')).status).toBe('done');
    expect(await textOf(workspace)).toBe(`${open}- by hand\n- Owns a dog\n`);
  });
});

describe('save, correct and forget', () => {
  it('saves a fact once, and takes marks in it for text', async () => {
    const workspace = await testWorkspace();
    const service = serviceIn(workspace);
    for (const text of ['Likes tea', 'likes **tea**.', 'Likes tea']) await service.save(scope, text);
    await service.save(scope, 'A mark <!-- cut off -->');
    await service.consolidate(scope, { now: true });
    expect(await textOf(workspace)).toBe('## Noted\n\n- Likes tea\n- A mark ‹!-- cut off -->\n');
    const today = new Date().toISOString().slice(0, 10);
    expect((await service.read(scope, `memory/${today}.md`)).match(/tea/g)).toHaveLength(1);
  });

  it('tells names and numbers with signs within from those without', async () => {
    const service = serviceIn(await testWorkspace());
    const texts = [
      'The column is user_id',
      'The column is userid',
      'It costs 5*3',
      'It costs 53',
      '用**茶**',
      '用茶',
    ];
    const said: string[] = [];
    for (const text of texts) said.push((await service.save(scope, text)).status);
    expect(said).toEqual(['done', 'done', 'done', 'done', 'done', 'known']);
  });

  it('is never full: the oldest facts retire where there is no room, and stay readable', async () => {
    const workspace = await testWorkspace();
    const service = serviceIn(workspace, { maxMemoryTokens: 300 });
    for (let at = 0; at < 50; at++) await service.save(scope, `The port of host ${at} is ${at}`);
    const text = await textOf(workspace);
    expect(text).toContain('host 49 ');
    expect(text).not.toContain('host 0 ');
    expect(await textOf(workspace, `${prefix}memory/retired.md`)).toContain('host 0 ');
  });

  it('tells of every fact who worded it, and where it was said', async () => {
    const workspace = await testWorkspace();
    await workspace.write(core, '- by hand\n');
    const message = userMessage('The port is 5433');
    await logSession(workspace, { ...scope, sessionId: 'a/b 1' }, [userMessage('hello'), message]);
    const service = serviceIn(workspace, { model: scribe() });
    await service.flush(SessionKey.of({ ...scope, sessionId: 'a/b 1' }));
    await service.consolidate(scope, { now: true });
    const source = { sessionId: 'a/b 1', messageId: message.id };
    expect(await service.facts(scope)).toEqual([
      { id: expect.any(String), text: 'by hand', author: 'person' },
      expect.objectContaining({ text: 'hello', author: 'model' }),
      expect.objectContaining({ author: 'model', saidOn: message.createdAt.slice(0, 10), source }),
    ]);
    const facts = await service.facts(scope);
    expect(facts.at(-1)?.text).toBe('The port is 5433');
  });

  it('are told, found and read where nothing can be written', async () => {
    const workspace = await testWorkspace();
    await workspace.write(core, '- by hand\n');
    await serviceIn(workspace).save(scope, 'Likes tea');
    const reader = serviceIn(readOnly(workspace), { index: join(workspace.root, 'index.db') });
    expect((await reader.facts(scope)).map(({ author }) => author)).toEqual(['person', 'model']);
    expect((await reader.search(scope, 'tea')).hits).toHaveLength(1);
    expect(await reader.read(scope)).toContain('Likes tea');
    await expect(reader.save(scope, 'Likes rum')).rejects.toMatchObject({ code: 'read_only' });
  });

  it('keeps whose a fact is that an earlier file brings back, and lets one that it lacks go', async () => {
    const workspace = await testWorkspace();
    const service = serviceIn(workspace);
    await service.save(scope, 'The port is 5433');
    const first = await textOf(workspace);
    await service.save(scope, 'The host is alpha');
    await service.correct(scope, 'port', 'The port is 6433');
    const newest = await textOf(workspace, previousOf(prefix));
    const restore = (text: string) => workspace.write(core, text);
    await restore(newest);
    await service.consolidate(scope, { now: true });
    expect(await service.facts(scope)).toMatchObject([
      { text: 'The port is 5433', author: 'model' },
      { text: 'The host is alpha', author: 'model' },
    ]);
    await restore(first);
    await service.consolidate(scope, { now: true });
    expect((await service.facts(scope)).map(({ text }) => text)).toEqual(['The port is 5433']);
    await restore(newest);
    expect((await service.facts(scope)).map(({ author }) => author)).toEqual(['model', 'model']);
  });

  it('corrects a fact, and refuses a model what a person wrote', async () => {
    const workspace = await testWorkspace();
    await workspace.write(core, '- by hand: the port is 1\n');
    const service = serviceIn(workspace);
    await service.save(scope, 'The host is alpha');
    expect((await service.correct(scope, 'host', 'The host is beta')).status).toBe('done');
    expect((await service.correct(scope, 'port', 'the port is 2')).status).toBe('refused');
    expect((await service.forget(scope, 'port')).status).toBe('refused');
    expect((await service.correct(scope, 'nothing like it', 'x')).status).toBe('missing');
    expect(await textOf(workspace)).toBe('- by hand: the port is 1\n\n## Noted\n\n- The host is beta\n');
    expect((await service.correct(scope, 'port', 'the port is 2', { by: 'person' })).status).toBe('done');
    expect((await service.facts(scope)).map(({ author }) => author)).toEqual(['person', 'model']);
    await service.consolidate(scope, { now: true });
    expect(await textOf(workspace)).not.toMatch(/alpha|port is 1/);
    const retired = await textOf(workspace, `${prefix}memory/retired.md`);
    for (const text of ['The host is alpha', 'by hand: the port is 1']) expect(retired).toContain(text);
  });

  it('refuses a correction that says nothing', async () => {
    const service = serviceIn(await testWorkspace());
    const ada = { userId: 'ada' };
    await service.save(ada, 'Staging runs on port 5433');
    await expect(service.correct(ada, 'staging', ' ')).rejects.toThrow('must not be empty');
    expect(await service.read(ada)).toContain('5433');
  });

  it('forgets a fact in every file and in the bytes of the index, for good', async () => {
    const workspace = await testWorkspace();
    const index = join(await temporaryDirectory(), 'index.db');
    const service = serviceIn(workspace, { index });
    await workspace.write(`${prefix}memory/archive/2025-01-01.md`, '- Owns a dog\n- Lives in Zanzibar\n');
    await service.save(scope, 'Lives in Zanzibar');
    await service.save(scope, 'Likes tea');
    await service.consolidate(scope, { now: true });
    await service.save(scope, 'Likes cats');
    expect((await service.search(scope, 'zanzibar')).hits.length).toBeGreaterThan(0);
    expect((await service.forget(scope, 'zanzibar', { by: 'person' })).status).toBe('done');
    await service.consolidate(scope, { now: true });
    expect((await service.search(scope, 'zanzibar')).hits).toEqual([]);
    expect(await everythingIn(workspace)).not.toMatch(/zanzibar/i);
    expect((await everythingIn(workspace)).match(/Likes tea/g)?.length).toBeGreaterThan(1);
    for (const end of ['', '-wal']) {
      const bytes = await readFile(`${index}${end}`, 'latin1').catch(() => '');
      expect(bytes).not.toMatch(/zanzibar/i);
    }
    // A note of before, told again by a process that was late, changes nothing.
    await workspace.append(note('2026-01-01'), '- Lives in Zanzibar\n');
    await service.consolidate(scope, { now: true });
    expect(await textOf(workspace)).not.toContain('Zanzibar');
  });

  it('calls it ambiguous what the words name elsewhere too, and forgets it by its whole text', async () => {
    const workspace = await testWorkspace();
    const service = serviceIn(workspace, { model: scribe() });
    const said = 'Remember that my passport number is X1234567.';
    await logSession(workspace, { ...scope, sessionId: 's' }, [userMessage(said)]);
    await service.flush(SessionKey.of({ ...scope, sessionId: 's' }));
    await service.save(scope, 'Passport number: X1234567');
    const { status, facts } = await service.forget(scope, 'X1234567');
    expect([status, facts.length]).toEqual(['ambiguous', 2]);
    for (const fact of facts) expect((await service.forget(scope, fact)).status).toBe('done');
    await service.consolidate(scope, { now: true });
    expect((await service.search(scope, 'X1234567')).hits).toEqual([]);
  });

  it('names at once what words match that nearly all facts and notes have', async () => {
    const workspace = await testWorkspace();
    const service = serviceIn(workspace, { maxMemoryTokens: 50_000 });
    const lines = (count: number, said: string) =>
      Array.from(
        { length: count },
        (_, at) => `- The user ${said} ${at} <!-- model 2026-01-01 s - -->\n`,
      ).join('');
    await workspace.write(note('2026-01-01'), lines(300, 'likes'));
    await service.consolidate(scope, { now: true });
    await workspace.write(note('2026-01-02'), lines(1_500, 'owns'));
    const query = 'the user '.repeat(200);
    expect((await service.forget(scope, query)).facts).toHaveLength(1_800);
    expect((await service.correct(scope, query, 'Alice')).status).toBe('ambiguous');
  });

  it('keeps MEMORY.md readable where a token has many bytes', async () => {
    const workspace = await testWorkspace();
    const service = serviceIn(workspace, { maxMemoryTokens: 50_000 });
    const long = 'สวัสดี'.repeat(150);
    const lines = Array.from({ length: 110 }, (_, at) => `- ${at} ${long} <!-- model 2026-01-01 s - -->\n`);
    await workspace.write(note('2026-01-01'), lines.join(''));
    await service.consolidate(scope, { now: true });
    expect((await service.save(scope, 'Likes tea')).status).toBe('done');
    expect((await workspace.read(core)).length).toBeLessThanOrEqual(256_000);
  });

  it('looks at each fact once, however many notes match the words of a correction', async () => {
    const workspace = await testWorkspace();
    const lines = Array.from({ length: 50 }, (_, at) => `- The user likes ${at}\n`);
    await workspace.write(note('2026-01-01'), lines.join(''));
    let reads = 0;
    const fact = {
      ...{ id: 'x', text: 'Other', author: 'model', saidOn: '2026-01-01' },
      get from() {
        reads++;
        return [];
      },
    } as const;
    const state = { facts: [fact], gone: {} } as unknown as MemoryState;
    expect(await pickNoted({ workspace, prefix }, state, 'the user')).toHaveLength(50);
    expect(reads).toBe(1);
  });

  it('forgets the words of a note together with the fact that a model made of them', async () => {
    const workspace = await testWorkspace();
    const model = modelOf(() => 'ADD n1: The passport of Alice has the number X1234567');
    const service = serviceIn(workspace, { model });
    await workspace.write(note('2026-01-01'), '- My passport number is X1234567\n');
    await service.consolidate(scope, { now: true });
    expect((await service.forget(scope, 'X1234567')).status).toBe('done');
    expect(await everythingIn(workspace)).not.toContain('X1234567');
  });

  it('finds a fact by whole words in any order, and by parts where a script has no spaces', async () => {
    const service = serviceIn(await testWorkspace());
    for (const text of [
      'The category of the shop is books',
      'Staging database runs on port 5433',
      '会议在上海举行',
      'Deploys (see c++/a.b) use k8s-prod-eu-1',
    ])
      await service.save(scope, text);
    for (const [words, status] of [
      ['cat', 'missing'],
      ['?', 'missing'],
      ['543', 'missing'],
      ['port, staging?', 'done'],
      ['上海', 'done'],
      ['K8S-prod-eu-1 (c++/a.b)', 'done'],
    ])
      expect((await service.forget(scope, words ?? '')).status, words).toBe(status);
  });

  it.each([
    ['nested', '- Ops\n  - The port is 5433\n  - other\n', '- Ops\n  - other\n'],
    ['a paragraph', 'The port is 5433\n\n- other\n', '\n- other\n'],
    ['numbered', '1. The port is 5433\n2. other\n', '2. other\n'],
    ['code', '- The port is 5433\n```\n- The port is 5433\n```\n', '```\n```\n'],
  ])('forgets a text that a person made %s for them alone, also in versions', async (_, text, left) => {
    const workspace = await testWorkspace();
    const service = serviceIn(workspace);
    await service.save(scope, 'The port is 5433');
    await workspace.write(core, text);
    await service.save(scope, 'Likes tea');
    await service.forget(scope, 'Likes tea');
    const put = text
      .split('\n')
      .findLast((line) => line.includes('5433'))
      ?.trim();
    expect(await service.forget(scope, 'The port is 5433')).toEqual({ status: 'refused', facts: [put] });
    expect((await service.forget(scope, 'The port is 5433', { by: 'person' })).status).toBe('done');
    expect(await textOf(workspace)).toBe(`${left}\n## Noted\n\n`);
    expect(await everythingIn(workspace)).not.toContain('5433');
  });

  const [head, tail] = ['The staging database of the shop runs on port', '5433 and is backed up'];
  const WRAPPED = [
    ['', `- ${head}\n  ${tail}\n`, true],
    [' without an indent', `- ${head}\n${tail}\n`, true],
    [' on lines of Windows', `- ${head}\r\n  ${tail}\r\n`, true],
    [' below another', `- Ops\n  - ${head}\n    ${tail}\n`, false],
    [' with a number', `1. ${head}\n   ${tail}\n`, false],
    [' as a task', `- [ ] ${head}\n      ${tail}\n`, false],
    [' as a paragraph', `${head}\n${tail}\n`, false],
    [' as a quotation', `> ${head}\n> ${tail}\n`, false],
  ] as const;

  it.each(WRAPPED)('takes a fact for one that an editor wrapped%s', async (_, text, isBullet) => {
    const workspace = await testWorkspace();
    const service = serviceIn(workspace);
    const wrap = async () => {
      await service.save(scope, `${head} ${tail}`);
      await workspace.write(core, `${text}- other\n`);
    };
    if (isBullet) {
      await wrap();
      expect(await service.correct(scope, `${head} ${tail}`, 'Likes tea')).toMatchObject({ status: 'done' });
      expect(await textOf(workspace)).toMatch(/^- Likes tea\r?\n- other\n$/);
    }
    await wrap();
    const forget = (by: 'model' | 'person') => service.forget(scope, `${head} ${tail}`, { by });
    expect((await forget('model')).status).toBe(isBullet ? 'done' : 'refused');
    if (!isBullet) expect((await forget('person')).status).toBe('done');
    expect(await everythingIn(workspace)).not.toMatch(/staging|backed up/);
  });

  it.each([
    ['', `- ${head}\n  ${tail} <!-- model 2026-01-01 s m -->\n`],
    [' without an indent', `- ${head}\n${tail} <!-- model 2026-01-01 s m -->\n`],
    [' together with its comment', `- ${head}\n  ${tail} <!-- model\n  2026-01-01 s m -->\n`],
    [' before its comment', `- ${head} ${tail}\n<!-- model 2026-01-01 s m -->\n`],
  ])(
    'takes a line of a note for one that an editor wrapped%s, and what follows for another',
    async (_, text) => {
      const workspace = await testWorkspace();
      const service = serviceIn(workspace);
      await workspace.write(note('2026-01-01'), `${text}added by hand\n`);
      await service.consolidate(scope, { now: true });
      const source = { sessionId: 's', messageId: 'm' };
      expect(await service.facts(scope)).toMatchObject([
        { text: `${head} ${tail}`, author: 'model', source },
      ]);
      await workspace.delete(core);
      expect((await service.forget(scope, `${head} ${tail}`)).status).toBe('done');
      expect(await textOf(workspace, note('2026-01-01'))).toBe('added by hand\n');
    },
  );

  it('corrects a fact in its list: the lines beside it stay', async () => {
    const workspace = await testWorkspace();
    const service = serviceIn(workspace);
    await service.save(scope, 'One fact');
    await workspace.write(core, '1. Ops\n   * One fact\n   * mine by hand\n');
    expect((await service.correct(scope, 'One fact', 'Another fact')).status).toBe('done');
    expect(await textOf(workspace)).toBe('1. Ops\n   * Another fact\n   * mine by hand\n');
    expect((await service.facts(scope)).map(({ author }) => author)).toEqual(['model', 'person']);
  });

  it.each([
    ['UTF-16', Buffer.from('\uFEFF- Herr Müller\r\n', 'utf16le')],
    ['Windows-1252', Buffer.concat([Buffer.from('- 日本\n'), Buffer.from('- Herr Müller\n', 'latin1')])],
  ])('keeps the words of a file that an editor saved as %s', async (_, bytes) => {
    const workspace = await testWorkspace();
    await workspace.write(core, bytes);
    const service = serviceIn(workspace);
    await service.save(scope, 'Likes tea');
    expect((await service.facts(scope)).map(({ text }) => text).slice(-2)).toEqual([
      'Herr Müller',
      'Likes tea',
    ]);
    expect(await textOf(workspace)).not.toContain('\uFFFD');
    expect((await service.search(scope, 'Müller')).hits.map(({ content }) => content)).toEqual([
      '- Herr Müller',
    ]);
  });

  it('ends lines as the file does', async () => {
    const workspace = await testWorkspace();
    await workspace.write(core, '# Me\r\n\r\n- by hand\r\n');
    const service = serviceIn(workspace);
    await service.save(scope, 'Likes tea');
    await service.correct(scope, 'tea', 'Likes rum');
    const text = '# Me\r\n\r\n- by hand\r\n\r\n## Noted\r\n\r\n- Likes rum\r\n';
    expect(await textOf(workspace)).toBe(text);
  });

  it('notes a fact once that is saved again after the disk was full', async () => {
    const workspace = await testWorkspace();
    const service = serviceIn(workspace);
    const write = workspace.write.bind(workspace);
    workspace.write = () => Promise.reject(new Error('ENOSPC'));
    await expect(service.save(scope, 'Likes tea')).rejects.toThrow('ENOSPC');
    workspace.write = write;
    const { paths } = await service.save(scope, 'Likes tea');
    expect(paths).toEqual(['MEMORY.md', expect.stringContaining('memory/')]);
    expect((await service.read(scope, paths?.[1])).match(/Likes tea/g)).toHaveLength(1);
  });

  it('keeps whose a line was that a person took out and put back', async () => {
    const workspace = await testWorkspace();
    const service = serviceIn(workspace);
    for (const text of ['Likes tea', 'Owns a dog']) await service.save(scope, text);
    const whole = await textOf(workspace);
    await workspace.delete(core);
    await service.save(scope, 'The port is 5433');
    await workspace.write(core, whole);
    expect((await service.facts(scope)).map(({ author }) => author)).toEqual(['model', 'model']);
    expect((await service.forget(scope, 'tea')).status).toBe('done');
    expect((await service.forget(scope, 'port')).status).toBe('done');
    expect(await everythingIn(workspace)).not.toMatch(/tea|5433/);
  });

  it.each(['', '{', '{"facts":3}'])('goes on beside files that hold %j', async (broken) => {
    const warned: string[] = [];
    const warn = vi
      .spyOn(process, 'emitWarning')
      .mockImplementation((text) => void warned.push(String(text)));
    onTestFinished(() => warn.mockRestore());
    const workspace = await testWorkspace();
    const service = serviceIn(workspace);
    for (const text of ['The port is 5433', 'Likes tea', 'Owns a dog', 'Likes gin'])
      await service.save(scope, text);
    await workspace.write(`${prefix}memory/.flush/s.json`, broken);
    await workspace.write(`${prefix}memory/.consolidation_state`, broken);
    expect((await service.save(scope, 'Likes beer')).status).toBe('done');
    expect((await service.facts(scope)).find(({ text }) => text === 'The port is 5433')?.author).toBe(
      'model',
    );
    expect((await service.forget(scope, 'port')).status).toBe('done');
    expect(await everythingIn(workspace)).not.toContain('5433');
    expect(warned.join('\n')).toContain(`${prefix}memory/.consolidation_state`);
  });

  it('refuses a state of a newer format, and leaves it as it is', async () => {
    const workspace = await testWorkspace();
    const service = serviceIn(workspace, { model: scribe() });
    const key = { ...scope, sessionId: 's' };
    await service.save(scope, 'Likes tea');
    await logSession(workspace, key, [userMessage('I like rum.')]);
    const refusal = { code: 'memory_newer', message: expect.stringContaining('Update @x/memory') };
    for (const [file, use] of [
      ['.flush/s.json', () => service.flush(SessionKey.of(key))],
      ['.consolidation_state', () => service.flush(SessionKey.of(key))],
      ['.consolidation_state', () => service.save(scope, 'Likes gin')],
      ['.consolidation_state', () => service.facts(scope)],
      ['.consolidation_state', () => service.forget(scope, 'tea')],
    ] as const) {
      const path = `${prefix}memory/${file}`;
      const before = await workspace.read(path).catch(() => undefined);
      const text = JSON.stringify({ format: 2, facts: 'of another release' });
      await workspace.write(path, text);
      await expect(use(), file).rejects.toMatchObject(refusal);
      expect(await textOf(workspace, path)).toBe(text);
      await (before === undefined ? workspace.delete(path) : workspace.write(path, before));
    }
    expect(await textOf(workspace)).toBe('## Noted\n\n- Likes tea\n');
  });

  it('leaves what was forgotten in the reasons of no retired fact', async () => {
    const service = serviceIn(await testWorkspace());
    await service.save(scope, 'Lives in Rome');
    await service.correct(scope, 'Rome', 'Lives in Oslo');
    expect((await service.forget(scope, 'Oslo')).status).toBe('done');
    const retired = await service.read(scope, 'memory/retired.md');
    expect(retired).toMatch(/^- Lives in Rome \(.* to .*; forgotten\)\n$/);
  });

  it('keeps forgotten what a session said that is flushed after a restore', async () => {
    const workspace = await testWorkspace();
    const service = serviceIn(workspace, { model: scribe() });
    const key = { ...scope, sessionId: 's' };
    await service.save(scope, 'Likes tea');
    const before = await textOf(workspace);
    await service.save(scope, 'Likes rum');
    await logSession(workspace, key, [userMessage('Remember that I live in Zanzibar.')]);
    await service.save(scope, 'Remember that I live in Zanzibar.');
    expect((await service.forget(scope, 'Zanzibar')).status).toBe('done');
    expect(await workspace.stat(previousOf(prefix))).toBeUndefined();
    await workspace.write(core, before);
    await service.flush(SessionKey.of(key));
    await service.consolidate(scope, { now: true });
    expect(await everythingIn(workspace, `${prefix}memory`)).not.toContain('Zanzibar');
    expect(await textOf(workspace)).not.toContain('Zanzibar');
  });

  it.each([
    ['while it stands there alone', false],
    ['while it stands in MEMORY.md too', true],
  ])('forgets what a process that died was about to note, %s', async (_, isSaved) => {
    const workspace = await testWorkspace();
    const said = 'Remember that I live in Zanzibar.';
    const key = { ...scope, sessionId: 's' };
    await logSession(workspace, key, [userMessage(said), userMessage('Remember that I like tea.')]);
    // The note is the first file that a flush appends to.
    const append = workspace.append.bind(workspace);
    workspace.append = () => Promise.reject(new Error('died'));
    const service = serviceIn(workspace, { model: scribe() });
    await expect(service.flush(SessionKey.of(key))).rejects.toThrow('died');
    workspace.append = append;
    if (isSaved) await service.save(scope, said);
    expect((await service.forget(scope, 'Zanzibar')).status).toBe('done');
    expect(await everythingIn(workspace, `${prefix}memory`)).not.toContain('Zanzibar');
    await service.flush(SessionKey.of(key));
    await service.consolidate(scope, { now: true });
    expect(await everythingIn(workspace, `${prefix}memory`)).not.toContain('Zanzibar');
    expect(await textOf(workspace)).toContain('I like tea');
  });

  it('hears again what a person says after it was forgotten or replaced, also on the same day', async () => {
    const workspace = await testWorkspace();
    const clock = new ManualClock(Date.parse('2026-01-02T08:00:00Z'));
    const service = serviceIn(workspace, { clock, model: scribe() });
    let sessions = 0;
    const say = async (text: string) => {
      await clock.pass(60_000);
      const key = { ...scope, sessionId: `s${sessions++}` };
      await logSession(workspace, key, [
        userMessage(text, { createdAt: new Date(clock.now()).toISOString() }),
      ]);
      await service.flush(SessionKey.of(key));
      await service.consolidate(scope, { now: true });
      await clock.pass(60_000);
    };
    await say('Remember that my seat is 12A.');
    expect((await service.forget(scope, 'seat')).status).toBe('done');
    await say('Remember that my seat is 12A.');
    expect(await textOf(workspace)).toContain('12A');
    for (const name of ['Bob', 'Rob', 'Bob']) await say(`Call me ${name}.`);
    expect((await textOf(workspace)).match(/Call me \w+/g)).toEqual(['Call me Bob']);
    // What went by a clock that was ahead goes now.
    await clock.pass(1_500 * DAY_MS);
    expect((await service.forget(scope, 'seat')).status).toBe('done');
    await clock.pass(-1_500 * DAY_MS);
    await service.consolidate(scope, { now: true });
    await say('Remember that my seat is 12A.');
    expect(await textOf(workspace)).toContain('12A');
  });

  it('hears nothing again for a time that has not come yet', async () => {
    const workspace = await testWorkspace();
    const clock = new ManualClock(Date.parse('2026-01-02T08:00:00Z'));
    const service = serviceIn(workspace, { clock, model: scribe() });
    const key = { ...scope, sessionId: 's' };
    const said = 'Remember that my seat is 12A.';
    await logSession(workspace, key, [userMessage(said, { createdAt: '2030-01-01T00:00:00.000Z' })]);
    await service.save(scope, said);
    expect((await service.forget(scope, 'seat')).status).toBe('done');
    await service.flush(SessionKey.of(key));
    await service.consolidate(scope, { now: true });
    expect(await everythingIn(workspace, `${prefix}memory`)).not.toContain('12A');
  });

  it('erases a user: nothing is left in the workspace or the index', async () => {
    const workspace = await testWorkspace();
    const path = join(await temporaryDirectory(), 'index.db');
    const index = await MemoryIndex.open(path);
    onTestFinished(() => index.close());
    const service = serviceIn(workspace, { index });
    await service.save(scope, 'Alice owns a zeppelin');
    await service.save({ userId: 'alice' }, 'Alice owns a quetzal');
    await service.save({ userId: 'bob' }, 'Bob stays');
    await logSession(workspace, { ...scope, sessionId: 's' }, [userMessage('my zeppelin')]);
    await service.search(scope, 'zeppelin');
    await service.search({ userId: 'alice' }, 'quetzal');
    await service.search({ userId: 'bob' }, 'stays');
    await expect(service.erase({ agentId: 'coder' })).rejects.toThrow('would erase all users');
    expect((await service.erase({ userId: 'alice' })).files).toBeGreaterThan(3);
    expect(await everythingIn(workspace)).not.toMatch(/alice|zeppelin|quetzal/i);
    expect((await service.search({ userId: 'bob' }, 'stays')).hits).not.toEqual([]);
    const bytes = Buffer.concat(
      await Promise.all([path, `${path}-wal`].map((file) => readFile(file).catch(() => Buffer.alloc(0)))),
    );
    expect(bytes.toString('latin1')).not.toMatch(/zeppelin|quetzal/i);
    const database = openBeside(path, { readOnly: true });
    onTestFinished(() => void database.close());
    expect(database.prepare('SELECT count(*) FROM files').cell()).toBe(2);
  });
});

describe('nothing is missed', () => {
  const parts = { ...scope, sessionId: 's' };

  it('a session whose process died before its flush is noted by the maintenance, before its log is deleted', async () => {
    const workspace = await testWorkspace();
    await logSession(workspace, parts, [userMessage('My name is Alice Example.')]);
    const clock = new ManualClock(Date.now());
    const service = serviceIn(workspace, { clock, model: scribe() });
    expect((await service.maintain(scope)).flushed).toBe(0);
    await clock.pass(DAY_MS);
    expect((await service.maintain(scope)).flushed).toBe(1);
    await clock.pass(181 * DAY_MS);
    expect((await service.maintain()).pruned).toBe(1);
    expect(await everythingIn(workspace)).toContain('My name is Alice Example.');
  });

  it('without a model a session is neither noted nor deleted, and a model that comes later reads all of it', async () => {
    const workspace = await testWorkspace();
    await logSession(workspace, parts, [userMessage('My name is Alice Example.')]);
    const clock = new ManualClock(Date.now());
    await clock.pass(181 * DAY_MS);
    const key = SessionKey.of(parts);
    expect(await serviceIn(workspace).flush(key)).toMatchObject({ status: 'skipped', messages: 0 });
    expect(await serviceIn(workspace, { clock }).maintain()).toMatchObject({ flushed: 0, pruned: 0 });
    const { bullets } = await serviceIn(workspace, { model: scribe() }).flush(key);
    expect(bullets).toEqual(['My name is Alice Example.']);
  });

  it('no log is deleted whose messages no model could be asked about', async () => {
    const workspace = await testWorkspace();
    await logSession(workspace, parts, [userMessage('My name is Alice Example.')]);
    const clock = new ManualClock(Date.now());
    let works = false;
    const model = modelOf(() => {
      if (!works) throw new Error('no route to host');
      return '- Her name is Alice Example [#1]';
    });
    const service = serviceIn(workspace, { clock, model });
    await clock.pass(181 * DAY_MS);
    expect(await service.maintain()).toMatchObject({
      pruned: 0,
      failures: [expect.stringContaining('no route')],
    });
    works = true;
    expect(await service.maintain()).toMatchObject({ flushed: 1, pruned: 1 });
    expect(await everythingIn(workspace)).toContain('Her name is Alice Example');
  });

  it('a clock that was once ahead silences nothing', async () => {
    const workspace = await testWorkspace();
    const clock = new ManualClock(Date.parse('2030-01-01T00:00:00Z'));
    const model = scribe();
    const flusher = flusherOf({ workspace, clock, model, flush: 'throttled' });
    const scheduler = new MemoryService({ workspace, clock, model });
    onTestFinished(() => scheduler.close());
    const remember = async (fact: string) => {
      await logSession(workspace, parts, [userMessage(`Remember that ${fact}`)]);
      const { status } = await flusher.flush(SessionKey.of(parts), { reason: 'turn' });
      return [status, (await scheduler.consolidate(scope)).status];
    };
    expect(await remember('one')).toEqual(['flushed', 'consolidated']);
    await clock.pass(-4 * 365 * DAY_MS);
    expect(await remember('two')).toEqual(['flushed', 'consolidated']);
  });

  it('notes carry the day of the time zone, and so does what the model is told', async () => {
    const workspace = await testWorkspace();
    const clock = new ManualClock(Date.parse('2026-03-04T22:00:00Z'));
    const model = modelOf(() => '- Likes tea [#1]');
    const flusher = flusherOf({ workspace, clock, model, timeZone: 'Asia/Tokyo' });
    const message = userMessage('I like tea', { createdAt: '2026-03-04T22:00:00.000Z' });
    await logSession(workspace, parts, [message]);
    await flusher.flush(SessionKey.of(parts));
    expect(model.prompts[0]).toContain('It is 2026-03-05.');
    const text = await textOf(workspace, note('2026-03-05'));
    expect(text).toContain(`- Likes tea <!-- model 2026-03-05 s ${message.id} -->\n`);
    expect(withoutMarks(text)).toBe('- Likes tea\n');
    expect(() => flusherOf({ workspace, timeZone: 'Mars' })).toThrow('timeZone');
  });
});
