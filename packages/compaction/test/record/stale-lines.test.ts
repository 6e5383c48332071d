import { type Message, userMessage } from '@x/core';
import { atOnce } from '@x/core/internal';
import { expect, it } from 'vitest';
import { type Entry, renderEntries } from '../../src/record/entry.js';
import { excerptsOf } from '../../src/record/excerpts.js';
import { writeRecord } from '../../src/record/write-record.js';
import { lines, meter, round } from '../build.js';

function entriesOf(messages: readonly Message[], earlier: readonly Entry[] = []): readonly Entry[] {
  const covered = messages.map((message, index) => ({
    at: earlier.length + index + 1,
    excerpts: excerptsOf(message),
  }));
  const rest = { staying: [], standing: new Set<never>(), tools: [], meter, room: 4_000 };
  return atOnce(writeRecord({ ...rest, earlier, covered }));
}
const recordOf = (messages: readonly Message[]) => renderEntries(entriesOf(messages));

const order = (id: number, extra: object = {}) =>
  JSON.stringify({
    id: `W${id}`,
    status: 'shipped',
    warehouse: 'HB-3',
    address: { street: 'Main 1', city: 'Ulm', zip: '89073' },
    shippingCents: 300 + id * 7,
    ...extra,
  });
const orders = (count: number, extra: (id: number) => object = () => ({})) =>
  Array.from({ length: count }, (_, index) =>
    round({ name: 'get_order', input: { id: `W${index}` }, output: order(index, extra(index)) }),
  ).flat();

it('says once what all results of a tool state, and keeps what differs', () => {
  const record = recordOf([userMessage('Look at all orders.'), ...orders(9)]);
  expect(record.match(/city Ulm/g)).toHaveLength(1);
  expect(record.match(/warehouse HB-3/g)).toHaveLength(1);
  for (let id = 0; id < 9; id++) expect(record).toContain(`shippingCents ${300 + id * 7}`);
  expect(record).toContain('r4 get_order W1 → “id W1, …, shippingCents 307”');
});

it('keeps the value of the one result that differs from the others', () => {
  const record = recordOf([userMessage('Look at all orders.'), ...orders(12, (id) => ({ vip: id === 7 }))]);
  expect(record).toMatch(/id W7, …, shippingCents 349, vip true/);
});

it('says in each result what only most of them state', () => {
  const record = recordOf([
    userMessage('Look at all orders.'),
    ...orders(8, (id) => ({ language: id % 2 === 0 ? 'French' : 'German' })),
  ]);
  expect(record.match(/language French/g)).toHaveLength(4);
});

it('does not repeat in a later record what an earlier one says', () => {
  const earlier = entriesOf([userMessage('Look at all orders.'), ...orders(6)]);
  const later = renderEntries(entriesOf(orders(6), earlier));
  expect(later.match(/city Ulm/g)).toHaveLength(1);
});

const file = [
  'export function rate(amount) {',
  '  const limit = readOldLimit(amount);',
  '  return limit;',
  '}',
].join('\n');
const read = () =>
  round({ name: 'read_file', input: { path: 'src/rate.js' }, output: `${file}\n${lines(60, 'remark')}` });
const edit = (path: string, isError = false) =>
  round({
    name: 'edit_file',
    input: {
      path,
      oldText: '  const limit = readOldLimit(amount);\n  return limit;',
      newText: '  const limit = 41;\n  return limit;',
    },
    output: isError ? 'Error: not found' : 'Edited.',
    isError,
  });

it('leaves out what a later edit of the file replaced', () => {
  const record = recordOf([userMessage('Mend rate.'), ...read(), ...edit('src/rate.js')]);
  expect(record).toContain('| r3 export function rate(amount) { …\n');
  expect(record).toContain('return limit;');
  expect(record).not.toMatch(/\| +const limit = readOldLimit/);
});

it.each([
  ['an edit that failed', [...read(), ...edit('src/rate.js', true)]],
  ['an edit of another file', [...read(), ...edit('src/other.js')]],
  ['an edit before the file was read', [...edit('src/rate.js'), ...read()]],
])('keeps what %s names', (_, messages) => {
  expect(recordOf([userMessage('Mend rate.'), ...messages])).toMatch(/\| +const limit = readOldLimit/);
});

const towns = ['Arvik', 'Dunlow', 'Norrby'];
const chrome = 'Visitors like the botanical garden and its palm house.';
const pageOf = (town: string) =>
  [
    `${town} lies on the river Osk.`,
    chrome,
    `Mayor of ${town}: Ada Holm.`,
    ...[1, 2, 3].map(
      (number) => `Street ${number} of ${town} leads to the market and on to the old harbour of the town.`,
    ),
  ].join('\n');
const pages = (names: readonly string[]) =>
  names.flatMap((page) => round({ name: 'read_page', input: { page }, output: pageOf(page) }));

it('quotes a line of a page once, whatever stands beside it, and marks where it is left out', () => {
  const earlier = entriesOf([userMessage('Who are the mayors?'), ...pages(towns.slice(0, 2))]);
  const record = renderEntries(entriesOf(pages(towns.slice(2)), earlier));
  expect(record.split(chrome)).toHaveLength(2);
  for (const town of towns) expect(record).toContain(`Mayor of ${town}: Ada Holm.`);
  expect(record).toContain('Norrby lies on the river Osk. …\n  | Mayor of Norrby');
});
