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
      'items: name Bookshelf, item_id 67, price 120.5, options (color white, height 6 ft)',
      'items: name Lamp, item_id 68, price 40, options (color black, height 2 ft)',
    ]);
  });

  it('keeps what stands around data, and reads data inside data', () => {
    const inner = JSON.stringify({ state: 'done', log: 'first\nsecond' });
    const text = `Answer in 3 ms:\n${JSON.stringify({ content: [{ type: 'text', text: inner.padEnd(140) }] })}`;
    expect(readable(text).split('\n')).toEqual([
      'Answer in 3 ms:',
      'type text text: state done',
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
    expect(lines.slice(1)).toEqual(
      [1, 2, 3].map(
        (seats) =>
          `flight_number HAT${seats}, departure 0${seats}:00:00, available_seats (basic_economy ${seats}, ` +
          `premium_economy 18, business 17), prices (basic_economy 79, premium_economy 158, business ${426 + seats})`,
      ),
    );
    const long = { ...flight('HAT9', 9), aircraft: 'y'.repeat(60), gate: 'B7' };
    for (const line of readable(JSON.stringify([long])).split('\n')) expect(line).toContain('HAT9');
  });

  it('reads the whole objects of data whose middle was cut out', () => {
    const rows = Array.from({ length: 40 }, (_, id) => ({ id, name: `row ${id}`, note: 'n'.repeat(30) }));
    const text = JSON.stringify(rows);
    const cut = `${text.slice(0, 900)}\n[… 1 000 characters are left out …]\n${text.slice(1_900)}`;
    const lines = readable(cut).split('\n');
    expect(lines).toContain('(id 0, name row 0)');
    expect(lines).toContain('(id 39, name row 39)');
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
