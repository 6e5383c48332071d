import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SqliteStatement, TextScan } from '@x/core/internal';
import { openBeside } from '@x/test-support';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { dateTermsOf, dayOf } from '../../src/index/dates.js';
import { memoryQuery } from '../../src/index/query.js';
import { MemoryIndex, MemoryIndexError } from '../../src/index.js';
import type { MemorySearchOptions } from '../../src/memory-index.js';
import { temporaryDirectory, testWorkspace } from '../support/test-context.js';

async function openIndex(path = ':memory:'): Promise<MemoryIndex> {
  const index = await MemoryIndex.open(path);
  onTestFinished(() => index.close());
  return index;
}

const found = async (index: MemoryIndex, query: string, options: MemorySearchOptions = {}) =>
  (await index.search(query, options)).map(({ path, lineNumber }) => `${path}:${lineNumber}`);

describe('words', () => {
  it.each([
    ['Wetter', 'Das WETTER'],
    ['ร้าน', 'ฉันไปร้านอาหารไทย'],
    ['ຮ້ານ', 'ໄປຮ້ານອາຫານ'],
    ['हिन्दी', 'मुझे हिन्दी पसंद है'],
    ['"exact phrase"', 'an exact phrase here'],
  ])('finds with %s: %s', async (query, line) => {
    const index = await openIndex();
    await index.indexFromString('a.md', `unrelated\n${line}`);
    expect(await found(index, query)).toEqual(['a.md:2']);
  });

  it.each([
    ['zeppelin', `${Array.from({ length: 60 }, (_, at) => `word${at}`).join(' ')} zeppelin`],
    [
      '会议地点改到杭州西湖宾馆三楼',
      `${'请问你还记得我们上个月在线上讨论过的那个关于年度总结安排和大家一起聚餐的事情吗'}会议地点改到杭州的哪个宾馆了`,
    ],
  ])('finds %s by the end of a long query', async (line, query) => {
    const index = await openIndex();
    // So many lines that not all of them are read.
    const others = Array.from({ length: 2_000 }, (_, at) => `发布第${at}版本 release ${at}`);
    await index.indexFromString('a.md', [line, ...others].join('\n'));
    expect((await found(index, query))[0]).toBe('a.md:1');
  });

  it('answers a question by lines with some of its words', async () => {
    const index = await openIndex();
    const lines = ['We are where we are', 'The office is in Bern', 'What do you do', 'Lunch is at noon'];
    await index.indexFromString('a.md', lines.join(`\n${'filler '.repeat(40)}\n`));
    expect((await found(index, 'Where is the office that we have?'))[0]).toBe('a.md:3');
  });

  it('finds what stands next to a line that was added later', async () => {
    const [edited, fresh] = [await openIndex(), await openIndex()];
    const lines = ['# Notes', 'filler one', 'It was decided in Bern.', 'filler two'];
    const after = [...lines.slice(0, 2), 'Where is the office of the team?', ...lines.slice(2)];
    await edited.indexFromString('a.md', lines.join('\n'));
    for (const index of [edited, fresh]) await index.indexFromString('a.md', after.join('\n'));
    const question = 'Where is the office of the team?';
    expect(await found(fresh, question)).toContain('a.md:4');
    expect(await found(edited, question)).toEqual(await found(fresh, question));
  });

  it('prefers lines that have a name as it was written, and newer ones', async () => {
    const index = await openIndex();
    await index.indexFromString('a.md', 'src app ts main\nsee src/app.ts and its main parts');
    expect(await found(index, 'src/app.ts')).toEqual(['a.md:2', 'a.md:1']);
    await index.indexFromString('memory/2026-01-01.md', 'likes tea');
    await index.indexFromString('memory/2025-01-01.md', 'likes tea');
    expect(await found(index, 'tea')).toEqual(['memory/2026-01-01.md:1', 'memory/2025-01-01.md:1']);
  });

  it('weighs how long a line is alike for keywords and for questions', async () => {
    const index = await openIndex();
    // By BM25 with b = 0.75 the short line has more to say of it; with b = 0.4 the long one had.
    await index.indexFromString('short.md', 'zeppelin one');
    await index.indexFromString('long.md', `zeppelin zeppelin ${'word '.repeat(14)}`);
    for (const query of ['zeppelin', 'zeppelin hangar key', 'where is the zeppelin now and then'])
      expect(await found(index, query)).toEqual(['short.md:1', 'long.md:1']);
  });

  it('ranks as a scan without an index does, and cuts one ranking into pages', async () => {
    const word = fc.constantFrom('red', 'green', 'blue', 'gray', 'is', 'the', 'where', 'loud', 'red green');
    const line = fc.array(word, { minLength: 0, maxLength: 12 }).map((words) => words.join(' '));
    const dates = fc.uniqueArray(fc.constantFrom('2026-01-03', '2026-02-03', '2025-02-03'), { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(
        dates,
        fc.array(line, { minLength: 30, maxLength: 120 }),
        fc.array(fc.oneof(word, fc.constantFrom('green*', '"red green"', 'February 3')), {
          minLength: 1,
          maxLength: 6,
        }),
        async (days, lines, words) => {
          const query = words.join(' ');
          const index = await openIndex();
          const scan = new TextScan<string>(memoryQuery(query));
          for (const date of days) {
            const file = `memory/${date}.md`;
            await index.indexFromString(file, lines.join('\n'));
            for (const [at, text] of lines.entries()) {
              const day = dayOf(date) ?? null;
              scan.add({ file, number: at + 1, day, text, extra: dateTermsOf(day), item: text });
            }
          }
          const hits = await index.search(query, { limit: 1_000 });
          expect(hits).toHaveLength(scan.best().length);
          // Of equals either may come first: they are compared by their scores.
          const places = new Map(hits.map(({ path, lineNumber, rank }) => [`${path}:${lineNumber}`, rank]));
          expect(places.size).toBe(hits.length);
          const firstLines = hits.slice(0, 10).map(({ content }) => content.split(' ').sort().join(' '));
          const scanned = scan
            .best()
            .slice(0, 10)
            .map(({ item }) => item.split(' ').sort().join(' '));
          expect(firstLines[0]).toBe(scanned[0]);
          const paged: string[] = [];
          for (let offset = 0; offset < hits.length; offset += 10) {
            for (const hit of await index.search(query, { offset }))
              paged.push(`${hit.path}:${hit.lineNumber}`);
          }
          expect(paged).toEqual([...places.keys()]);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('looks of few lines only at those with words of a question, and at their neighbors', async () => {
    const index = await openIndex();
    const lines = Array.from({ length: 900 }, (_, at) => `straw ${at} is here`);
    await index.indexFromString('a.md', lines.with(450, 'the needle is called Ada').join('\n'));
    const add = vi.spyOn(TextScan.prototype, 'add');
    onTestFinished(() => add.mockRestore());
    expect((await found(index, 'what is the needle called?'))[0]).toBe('a.md:451');
    expect(add).toHaveBeenCalledTimes(13);
  });

  it('finds the line with both of two words that thousands of newer lines have, and newer ones of a common word', async () => {
    const index = await openIndex();
    const lines = Array.from({ length: 8_000 }, (_, at) => `${at % 2 ? 'alpha' : 'beta'} number ${at}`);
    await index.indexFromString('a.md', ['alpha and beta', ...lines].join('\n'));
    expect((await found(index, 'where is the alpha with the beta'))[0]).toBe('a.md:1');
    expect((await found(index, 'alpha beta'))[0]).toBe('a.md:1');
    expect(await found(index, 'where is the one alpha of all')).toHaveLength(10);
    expect(await found(index, 'alpha', { limit: 30 })).toHaveLength(30);
  });

  it('shows every line of a topic among many others that share its words', async () => {
    const index = await openIndex();
    const topic = [
      'The staging database of the shop runs on port 5433',
      'Its user is shop_stage',
      'Staging is reset every Sunday',
    ];
    const others = Array.from(
      { length: 60 },
      (_, number) => `Release ${number} of the shop went out on time`,
    );
    await index.indexFromString(
      'MEMORY.md',
      [...others.slice(0, 30), '## Staging', ...topic, '## Releases', ...others.slice(30)]
        .map((text) => (text.startsWith('#') ? text : `- ${text}`))
        .join('\n'),
    );
    const contents = (await index.search('which port is the staging database of the shop on?')).map(
      ({ content }) => content,
    );
    expect(contents[0]).toContain('5433');
    for (const text of topic) expect(contents).toContain(`- ${text}`);
  });

  it('finds what was said on a day by its date, however that is written', async () => {
    const index = await openIndex();
    for (const date of ['2026-04-27', '2026-04-28', '2025-04-27']) {
      await index.indexFromString(`memory/${date}.md`, `- ran in the park (${date.length})\n- nothing else`);
    }
    const first = async (query: string) => (await index.search(query))[0]?.path;
    for (const date of ['April 27th', '27 April', '27 of April 2026', '4月27号', '2026-04-27']) {
      expect(await first(`On ${date}, how long did I run in the park?`)).toBe('memory/2026-04-27.md');
    }
    expect(await first('who ran in the park on April 27, 2025?')).toBe('memory/2025-04-27.md');
  });
});

describe('filters', () => {
  it('by date and place', async () => {
    const index = await openIndex();
    for (const user of ['alice', 'bob', 'Alice']) {
      const segment = user === 'Alice' ? '%41lice' : user;
      await index.indexFromString(`users/${segment}/agents/coder/memory/2026-01-01.md`, 'needle old');
      await index.indexFromString(`users/${segment}/agents/coder/memory/2026-03-01.md`, 'needle new');
    }
    const alice = 'users/alice/agents/coder/';
    expect(await found(index, 'needle', { prefix: alice })).toHaveLength(2);
    expect(await found(index, 'needle', { prefix: 'users/%41lice/agents/coder/' })).toEqual(
      expect.arrayContaining(['users/%41lice/agents/coder/memory/2026-01-01.md:1']),
    );
    expect(await found(index, 'needle', { prefix: 'users/' })).toEqual([]);
    const since = { prefix: alice, since: '2026-02-01' };
    expect(await found(index, 'needle', since)).toEqual([`${alice}memory/2026-03-01.md:1`]);
    expect(await found(index, 'needle', { prefix: alice, until: '2026-01-01' })).toEqual([
      `${alice}memory/2026-01-01.md:1`,
    ]);
    await expect(index.search('needle', { since: 'yesterday' })).rejects.toThrow('since');
  });

  it('pages', async () => {
    const index = await openIndex();
    const lines = Array.from({ length: 25 }, (_, number) => `needle ${number}`);
    await index.indexFromString('a.md', lines.join('\n'));
    const pages = await Promise.all([0, 10, 20, 30].map((offset) => index.search('needle', { offset })));
    expect(pages.map((page) => page.length)).toEqual([10, 10, 5, 0]);
    expect(new Set(pages.flat().map(({ lineNumber }) => lineNumber)).size).toBe(25);
  });
});

describe('the file', () => {
  it('is read by others while one writes', async () => {
    const path = join(await temporaryDirectory(), 'index.db');
    const writer = await openIndex(path);
    await writer.indexFromString('a.md', 'cat');
    const reader = await openIndex(path);
    const database = openBeside(path);
    onTestFinished(() => void database.close());
    database.exec('BEGIN IMMEDIATE');
    // Someone is in the middle of writing: readers see what was before, at once.
    expect(await found(reader, 'cat')).toEqual(['a.md:1']);
    database.exec('COMMIT');
    await writer.indexFromString('a.md', 'cat\ncat dog');
    expect(await found(reader, 'dog')).toEqual(['a.md:2']);
  });

  it('says so when it is closed', async () => {
    const index = await openIndex();
    index.close();
    await expect(index.search('cat')).rejects.toThrow(MemoryIndexError);
    await expect(index.indexFromString('a.md', 'cat')).rejects.toThrow('is closed. Open it again');
  });

  it.each([
    ['but for its header, while it is open', 4_096, Number.POSITIVE_INFINITY],
    ['but for its header, before it is opened', 4_096, Number.POSITIVE_INFINITY],
    ['in its header, before it is opened', 0, 100],
  ])('is made anew when it is damaged %s', async (when, from, to) => {
    const path = join(await temporaryDirectory(), 'index.db');
    const workspace = await testWorkspace();
    const lines = Array.from({ length: 3_000 }, (_, number) => `needle number ${number}`);
    await workspace.write('MEMORY.md', lines.join('\n'));
    const first = await MemoryIndex.open(path);
    await first.indexAllFromWorkspace(workspace);
    first.close();
    const opened = when.endsWith('while it is open') ? await openIndex(path) : undefined;
    const file = await open(path, 'r+');
    const { size } = await stat(path);
    await file.write(Buffer.alloc(Math.min(size, to) - from, 0xa5), 0, null, from);
    await file.close();
    const index = opened ?? (await openIndex(path));
    const repaired = async () => {
      await index.indexAllFromWorkspace(workspace);
      return index.search('needle');
    };
    // The damage may be met while indexing or, where nothing had to be indexed, while searching.
    const hits = await repaired().catch(repaired);
    expect(hits).toHaveLength(10);
  });
});

it('reads as many lines of a large index as of a smaller one, for words that all lines have', async () => {
  const all = vi.spyOn(SqliteStatement.prototype, 'all');
  onTestFinished(() => all.mockRestore());
  const index = await openIndex();
  const line = (_: unknown, number: number) => `The deployment of service ${number} was on schedule`;
  const readFor = async (query: string) => {
    all.mockClear();
    expect(await index.search(query)).toHaveLength(10);
    const rows = all.mock.results.flatMap(({ value }) => value as readonly unknown[]);
    return rows.filter((row) => typeof row === 'object' && row !== null && 'content' in row).length;
  };
  for (const lines of [1_500, 6_000]) {
    await index.indexFromString('memory/a.md', Array.from({ length: lines }, line).join('\n'));
    expect(await readFor('deployment schedule')).toBeLessThan(100);
    expect(await readFor('what was on the schedule of the deployment?')).toBeLessThan(500);
  }
});
