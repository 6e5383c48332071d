import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readable } from '../../src/record/readable.js';

const order = {
  order_id: '#W53',
  status: 'delivered',
  cancelled: false,
  note: null,
  address: { city: 'Houston', zip: '77052' },
  items: [
    { name: 'Bookshelf', item_id: '67', price: 120.5, options: { color: 'white', height: '6 ft' } },
    { name: 'Lamp', item_id: '68', price: 40, options: { color: 'black', height: '2 ft' } },
  ],
};

describe('the text of a tool as a reader wants it', () => {
  it('renders data as facts with their owners', () => {
    expect(readable(JSON.stringify(order)).split('\n')).toEqual([
      'order_id #W53, status delivered, cancelled false, address (city Houston, zip 77052)',
      'items (name, item_id, price, options (color, height)): Bookshelf, 67, 120.5, (white, 6 ft) | Lamp, 68, 40, (black, 2 ft)',
    ]);
  });

  it('makes rows of objects with the same keys, below their keys on every line, and equal ones once', () => {
    const row = (id: number) => ({ id, size: `${id} cm`, note: null });
    const lines = readable(JSON.stringify({ parts: [...Array(60).keys(), 3].map(row) })).split('\n');
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines) expect(line).toMatch(/^parts \(id, size\): \d/);
    const rows = lines.flatMap((line) => line.slice(line.indexOf(': ') + 2).split(' | '));
    expect(rows).toEqual(Array.from({ length: 60 }, (_, id) => `${id}, ${id} cm`));
  });

  it('lets no value begin a row', () => {
    const people = [
      { id: 1, name: 'Bob, true | 1, Ann', admin: false },
      { id: 2, name: 'a|b |', admin: true },
    ];
    expect(readable(JSON.stringify({ people }))).toBe(
      'people (id, name, admin): 1, Bob, true ¦ 1, Ann, false | 2, a|b |, true',
    );
  });

  it('names rows by the keys that they stand under', () => {
    const variants = { 71: { id: '71', free: true, price: 4 }, 72: { id: '72', free: false, price: 5 } };
    expect(readable(JSON.stringify({ variants }))).toBe('variants (free, price): 71 true, 4 | 72 false, 5');
  });

  it('reads what is wrapped many times', () => {
    let text: unknown = { file: 'rows.csv' };
    for (let depth = 0; depth < 9; depth++)
      text = { content: [{ type: 'text', text: JSON.stringify(text) }] };
    expect(readable(JSON.stringify(text))).toContain('file rows.csv');
  });

  it('keeps what stands around data, and reads data inside data', () => {
    const inner = JSON.stringify({ state: 'done', log: 'first\nsecond' });
    const text = `Answer in 3 ms:\n${JSON.stringify({ content: [{ type: 'text', text: inner.padEnd(140) }] })}`;
    expect(readable(text).split('\n')).toEqual([
      'Answer in 3 ms:',
      'content: state done',
      'log: first',
      'second',
    ]);
  });

  it('writes out line breaks that another program escaped, and nothing where they are the exception', () => {
    expect(readable(String.raw`text='one\ntwo: it\'s' done`)).toBe("text='one\ntwo: it's' done");
    const code = 'print("a\\n")\nprint("b")\nend';
    expect(readable(code)).toBe(code);
  });

  it.each([
    String.raw`C:\temp\new\file.ts`,
    String.raw`src\new\parser.ts`,
    String.raw`matches \d+\n in the line`,
  ])('leaves backslashes of another use alone: %s', (text) => {
    expect(readable(text)).toBe(text);
  });

  it('reads data whose end is missing', () => {
    const text = JSON.stringify(order);
    for (let end = 40; end < text.length; end += 7) {
      expect(readable(text.slice(0, end))).toContain('order_id #W53');
    }
  });

  it('says once what all items of a list have, and names the item in each of its lines', () => {
    const flight = (number: string, seats: number) => ({
      flight_number: number,
      origin: 'ATL',
      destination: 'SEA',
      departure: `0${seats}:00:00`,
      available_seats: { basic_economy: seats, premium_economy: 18, business: 17 },
      prices: { basic_economy: 79, premium_economy: 158, business: 426 + seats },
      remarks: 'x'.repeat(60),
    });
    const lines = readable(JSON.stringify([flight('HAT1', 1), flight('HAT2', 2), flight('HAT3', 3)])).split(
      '\n',
    );
    expect(lines[0]).toBe(`all 3: origin ATL, destination SEA, remarks ${'x'.repeat(60)}`);
    const head =
      '(flight_number, departure, available_seats (basic_economy, premium_economy, business), ' +
      'prices (basic_economy, premium_economy, business)): ';
    expect(lines.slice(1)).toEqual([
      `${head}HAT1, 01:00:00, (1, 18, 17), (79, 158, 427) | HAT2, 02:00:00, (2, 18, 17), (79, 158, 428)`,
      `${head}HAT3, 03:00:00, (3, 18, 17), (79, 158, 429)`,
    ]);
    const long = { ...flight('HAT9', 9), aircraft: 'y'.repeat(60), gate: 'B7' };
    for (const line of readable(JSON.stringify([long])).split('\n')) expect(line).toContain('HAT9');
  });

  it('reads the whole objects of data whose middle was cut out', () => {
    const rows = Array.from({ length: 40 }, (_, id) => ({ id, name: `row ${id}`, note: 'n'.repeat(30) }));
    const text = JSON.stringify(rows);
    const cut = `${text.slice(0, 900)}\n[… 1 000 characters are left out …]\n${text.slice(1_900)}`;
    const lines = readable(cut).split('\n');
    expect(lines.join('\n')).toContain('0, row 0');
    expect(lines.join('\n')).toContain('39, row 39');
    expect(lines.filter((line) => line.includes('":')).length).toBeLessThanOrEqual(2);
  });

  it('leaves a program alone that has data inside', () => {
    const program = `${'const one = 1;\n'.repeat(60)}const data = {"a": 1, "b": [1, 2]};\n`;
    expect(readable(program)).toBe(program);
  });

  it('holds every key and every short value of any data', () => {
    const word = fc.stringMatching(/^[a-z]{3,12}$/);
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 5 },
        word,
        fc.integer(),
        fc.boolean(),
        fc.array(tie('any'), { maxLength: 4 }),
        fc.dictionary(word, tie('any'), { maxKeys: 4 }),
      ),
    })).any;
    fc.assert(
      fc.property(fc.dictionary(word, value, { minKeys: 1 }), (data) => {
        const text = readable(JSON.stringify(data));
        const scalars = JSON.stringify(data).match(/(?<=[:,[])"[a-z]+"(?!:)|-?\d+/g) ?? [];
        for (const scalar of scalars) expect(text).toContain(scalar.replaceAll('"', ''));
      }),
    );
  });
});
