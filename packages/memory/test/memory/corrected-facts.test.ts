import fc from 'fast-check';
import { afterEach, expect, it } from 'vitest';
import { MemoryService } from '../../src/index.js';
import { testWorkspace } from '../support/test-context.js';

const alice = { userId: 'alice' };
const services: MemoryService[] = [];
afterEach(() => Promise.all(services.splice(0).map((service) => service.close())));

async function open(): Promise<MemoryService> {
  const workspace = await testWorkspace();
  const service = new MemoryService({ workspace, index: ':memory:', maintenance: false });
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
