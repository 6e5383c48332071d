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
      'items Bookshelf: item_id 67, price 120.5, options (color white, height 6 ft)',
      'items Lamp: item_id 68, price 40, options (color black, height 2 ft)',
    ]);
  });

  it('says the name of an object once where it is its key, too, and in any case', () => {
    const cards = { card_1: { id: 'card_1', last_four: '6791' }, 7: { id: 7 } };
    expect(readable(JSON.stringify(cards))).toBe('7 7, card_1 (last_four 6791)');
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

  it('names an item in each of its lines', () => {
    const flight = {
      flight_number: 'HAT9',
      departure: '09:00:00',
      seats: { economy: 9, business: 17 },
      remarks: 'x'.repeat(60),
      aircraft: 'y'.repeat(60),
      prices: { economy: { low: 79, high: 90 } },
    };
    const lines = readable(JSON.stringify([flight])).split('\n');
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines) expect(line).toContain('HAT9');
  });

  it('reads the whole objects of data whose middle was cut out', () => {
    const rows = Array.from({ length: 40 }, (_, id) => ({ id, name: `row ${id}`, note: 'n'.repeat(30) }));
    const text = JSON.stringify(rows);
    const cut = `${text.slice(0, 900)}\n[… 1 000 characters are left out …]\n${text.slice(1_900)}`;
    const lines = readable(cut).split('\n');
    expect(lines.join('\n')).toContain('id 0, name row 0');
    expect(lines.join('\n')).toContain('id 39, name row 39');
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
