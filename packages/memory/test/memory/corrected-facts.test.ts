import fc from 'fast-check';
import { afterEach, expect, it } from 'vitest';
import { MemoryService } from '../../src/index.js';
import type { MemoryServiceOptions } from '../../src/settings.js';
import { modelOf } from '../support/models.js';
import { testWorkspace } from '../support/test-context.js';

const alice = { userId: 'alice' };
const services: MemoryService[] = [];
afterEach(() => Promise.all(services.splice(0).map((service) => service.close())));

async function open(options: Partial<MemoryServiceOptions> = {}): Promise<MemoryService> {
  const workspace = await testWorkspace();
  const service = new MemoryService({ workspace, index: ':memory:', maintenance: false, ...options });
  services.push(service);
  return service;
}

const textsOf = (hits: readonly { readonly content: string }[]) =>
  hits.map(({ content }) => content.replace(/^- /, '').replace(/ <!--.*$/, ''));

it('finds what is true now before what was true', async () => {
  const service = await open();
  await service.save(alice, 'Alice works at Google');
  await service.correct(alice, 'Alice works at Google', 'Alice just joined Microsoft');
  const { hits } = await service.search(alice, 'where does Alice work');
  expect(textsOf(hits)).toEqual(['Alice just joined Microsoft', 'Alice works at Google']);
  expect(hits.map(({ retired }) => retired)).toEqual([undefined, 'now: Alice just joined Microsoft']);
});

it('brings the fact that replaced what was found, however it is worded', async () => {
  const service = await open();
  await service.save(alice, 'The staging port is 5433');
  await service.correct(alice, 'The staging port is 5433', 'Staging listens on 6433');
  await service.correct(alice, 'Staging listens on 6433', 'Everything runs on 7433');
  const [first, ...rest] = (await service.search(alice, '5433')).hits;
  expect(textsOf(first ? [first] : [])).toEqual(['Everything runs on 7433']);
  expect(rest.map(({ retired }) => retired)).toEqual(['now: Everything runs on 7433']);
});

it('finds a line that a person changed in MEMORY.md before the note that has the old one', async () => {
  const service = await open();
  await service.save(alice, 'Alice works at Google');
  const text = await service.read(alice);
  await service.storage.write('users/alice/MEMORY.md', text.replace('Google', 'Microsoft'));
  const search = async () => (await service.search(alice, 'where does Alice work at Google')).hits;
  const marks = [undefined, 'removed from MEMORY.md'];
  expect(textsOf(await search())).toEqual(['Alice works at Microsoft', 'Alice works at Google']);
  expect((await search()).map(({ retired }) => retired)).toEqual(marks);
  await service.save(alice, 'The dog of Alice is Rex');
  expect((await search()).at(-1)).toMatchObject({ retired: marks[1] });
  // A person may restore the line.
  await service.storage.write('users/alice/MEMORY.md', text);
  expect((await search())[0]?.retired).toBeUndefined();
});

it('finds a fact once, in MEMORY.md, and no heading', async () => {
  const service = await open();
  await service.save(alice, 'Noted facts are kept in the vault');
  const { hits } = await service.search(alice, 'noted');
  expect(hits.map(({ path }) => path.endsWith('MEMORY.md'))).toEqual([true]);
});

it('finds the newest of any facts first, on every page', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.integer({ min: 1, max: 99 }), { minLength: 1, maxLength: 4 }), {
        minLength: 1,
        maxLength: 8,
      }),
      async (histories) => {
        const service = await open();
        const facts = histories.map((values, subject) =>
          [...new Set(values)].map((value) => `The port of service${subject} is ${value}`),
        );
        for (const [first = '', ...later] of facts) {
          await service.save(alice, first);
          let last = first;
          for (const next of later) {
            await service.correct(alice, last, next);
            last = next;
          }
        }
        const { hits } = await service.search(alice, 'which port?', { limit: 100 });
        const found = textsOf(hits);
        for (const [subject, versions] of facts.entries()) {
          const own = found.filter((text) => text.includes(`service${subject} `));
          expect(own[0]).toBe(versions.at(-1));
          expect(new Set(own)).toEqual(new Set(versions));
        }
        const pages = [];
        for (let offset = 0; offset < found.length; offset += 3)
          pages.push(...(await service.search(alice, 'which port?', { limit: 3, offset })).hits);
        expect(new Set(textsOf(pages)).size).toBe(pages.length);
      },
    ),
    { numRuns: 15 },
  );
});

const today = () => `users/alice/memory/${new Date().toISOString().slice(0, 10)}.md`;

it('corrects a fact that only a note has', async () => {
  const service = await open();
  const old = 'Alice works at Google';
  await service.storage.write(today(), `- ${old} <!-- model 2026-01-31 s m -->\n- By hand: uses vim\n`);
  expect(await service.correct(alice, 'vim', 'Uses emacs')).toMatchObject({ status: 'refused' });
  expect(await service.correct(alice, old, 'Alice joined Meta')).toEqual({ status: 'done', facts: [old] });
  expect(await service.facts(alice)).toMatchObject([{ text: 'Alice joined Meta', author: 'model' }]);
  const { hits } = await service.search(alice, 'Alice Google');
  expect(hits.map(({ retired }) => retired)).toEqual([undefined, 'now: Alice joined Meta']);
  // The old fact does not return with the next merge, and is not corrected twice.
  await service.consolidate(alice, { now: true });
  expect((await service.facts(alice)).map(({ text }) => text)).toEqual([
    'Alice joined Meta',
    'By hand: uses vim',
  ]);
  expect(await service.correct(alice, old, 'x')).toMatchObject({ status: 'missing' });
});

it('corrects a fact that had no room in MEMORY.md, and none that a person deleted', async () => {
  const service = await open({ maxMemoryTokens: 100 });
  const port = (number: number) => `Service number ${number} listens on port ${7000 + number}`;
  for (let number = 0; number < 20; number++) await service.save(alice, port(number));
  expect(await service.read(alice)).not.toContain(port(3));
  expect(await service.correct(alice, port(3), 'Service number 3 is gone')).toMatchObject({ status: 'done' });
  expect(await service.read(alice)).toContain('Service number 3 is gone');
  const text = await service.read(alice);
  await service.storage.write('users/alice/MEMORY.md', text.replace(`- ${port(19)}\n`, ''));
  expect(await service.correct(alice, port(19), 'x')).toMatchObject({ status: 'missing' });
});

it('corrects the fact into which a note line was merged', async () => {
  const service = await open({ model: modelOf(() => 'ADD n1: Alice is employed by Google') });
  await service.storage.write(today(), '- Works at Google <!-- model 2026-01-31 s m -->\n');
  await service.consolidate(alice, { now: true });
  expect(await service.correct(alice, 'Works at Google', 'Alice joined Meta')).toMatchObject({
    status: 'done',
    facts: ['Alice is employed by Google'],
  });
  expect((await service.facts(alice)).map(({ text }) => text)).toEqual(['Alice joined Meta']);
});

it('corrects the fact with the whole text, not a longer one that contains its words', async () => {
  const service = await open();
  const longer = 'The staging port is 5433 and its replica has 5434';
  await service.save(alice, longer);
  await service.storage.append(today(), '- The staging port is 5433 <!-- model 2026-01-31 s m -->\n');
  const outcome = await service.correct(alice, 'The staging port is 5433', 'The staging port is 6433');
  expect(outcome).toMatchObject({ status: 'done', facts: ['The staging port is 5433'] });
  await service.consolidate(alice, { now: true });
  const texts = (await service.facts(alice)).map(({ text }) => text);
  expect(texts).toEqual([longer, 'The staging port is 6433']);
});

it('saves a fact that a model wrote as a bullet without the bullet', async () => {
  const service = await open();
  await service.save(alice, '- Alice prefers tea');
  expect(await service.save(alice, 'Alice prefers tea')).toMatchObject({ status: 'known' });
});

it('finds a confirmed fact once, and forgets its unconfirmed mention too', async () => {
  const service = await open();
  const fact = 'Alice prefers tea';
  await service.save(alice, fact, { strangers: ['web_fetch'] });
  await service.save(alice, fact);
  expect(textsOf((await service.search(alice, 'tea')).hits)).toEqual([fact]);
  await service.forget(alice, fact);
  expect((await service.search(alice, 'tea')).hits).toEqual([]);
  expect(await service.read(alice, today().slice('users/alice/'.length))).toBe('');
});

it('forgets a reason for which a fact was retired, also one with a semicolon', async () => {
  const service = await open({ model: modelOf(() => 'RETIRE f1 BY n1') });
  await service.save(alice, 'Alice works at Google');
  const reason = 'Alice left Google; she rests now';
  await service.storage.append(today(), `- ${reason}\n`);
  await service.consolidate(alice, { now: true });
  expect(await service.read(alice, 'memory/retired.md')).toContain(reason);
  await service.forget(alice, reason, { by: 'person' });
  expect(await service.read(alice, 'memory/retired.md')).toMatch(/to .*; forgotten\)\n$/);
});
