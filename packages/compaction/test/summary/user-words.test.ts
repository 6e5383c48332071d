import { assistantMessage, type Message, textOf, userMessage } from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keepUserWords } from '../../src/summary/user-words.js';
import { at, lines, meter } from '../build.js';

const keep = (requests: readonly Message[], messages: readonly Message[], room: number) =>
  keepUserWords(requests, messages, room, meter).map(({ message }) => message);

describe('the words of the user', () => {
  it('stay while a page of instructions, which a program put before them, gives way', () => {
    const first = userMessage('Make the shop ready for the new tax rules.');
    const rule = 'The store waits for the lease and writes nothing before it has it.\n';
    const page = userMessage(`# Findings\n\n## Facts\n\n## Open\n\n${rule.repeat(60)}`);
    const wishes = Array.from({ length: 6 }, (_, index) =>
      userMessage(
        Array.from(
          { length: 12 },
          (_, at) => `Round the amounts of country ${index}-${at} to five cents.`,
        ).join(' '),
      ),
    );
    const messages = [
      first,
      assistantMessage('ok'),
      ...wishes.slice(0, 5).flatMap((wish) => [wish, assistantMessage('done')]),
      page,
      ...wishes.slice(5),
      assistantMessage('done'),
      userMessage('And now?'),
    ];
    const requests = [first, ...wishes.slice(0, 5), page, ...wishes.slice(5)];
    const room = meter.messages([first, ...wishes]) + 120;
    const kept = keep(requests, messages, room);
    for (const words of [first, ...wishes]) expect(kept).toContain(words);
    expect(kept).not.toContain(page);
    expect(meter.messages(kept)).toBeLessThanOrEqual(room);
  });

  it('keep the wish of every long request if each can be shortened', () => {
    const story = 'The support desk told me about it on the phone, and they sounded a bit annoyed.';
    const requests = Array.from({ length: 13 }, (_, index) => {
      const sentences = Array.from({ length: 20 }, () => story);
      sentences.splice(
        (index * 7) % 20,
        0,
        `Never keep more than ${1_000 + index} entries in table t_${index}.`,
      );
      return userMessage(sentences.join(' '));
    });
    const messages = requests.flatMap((request) => [request, assistantMessage('done')]);
    const room = meter.messages(requests) / 3;
    const kept = keep(requests, messages, room).map(textOf);
    expect(kept).toHaveLength(13);
    for (const [index, text] of kept.entries()) expect(text).toContain(`${1_000 + index} entries`);
    // The longest give way first, so all become equally long.
    const lengths = kept.slice(1, -1).map((text) => text.length);
    expect(Math.min(...lengths)).toBeGreaterThan(Math.max(...lengths) / 2);
  });

  it('stand once where two requests hold the same template', () => {
    const template = lines(40, 'Rule of the house number');
    const requests = ['Fix the login.', 'Fix the logout.'].map((wish) => userMessage(`${template}\n${wish}`));
    const messages = [
      ...requests.flatMap((each) => [each, assistantMessage('done')]),
      userMessage('And now?'),
    ];
    const kept = keep(requests, messages, 10_000).map(textOf);
    expect(kept[0]).toBe(`${template}\nFix the login.`);
    expect(kept[1]).toBe(`[… ${template.length} characters as in an earlier message …]\nFix the logout.`);
  });

  it('say after every cut how much of the original is left out', () => {
    const sentences = Array.from(
      { length: 300 },
      (_, index) => `Sentence ${index} asks for feature ${index}.`,
    );
    const long = userMessage(sentences.join(' '));
    const rest = [assistantMessage('ok'), userMessage('And now?')];
    let request = long;
    let cuts = 0;
    for (const room of [1_600, 200]) {
      const short = at(keep([request], [request, ...rest], room), 0);
      const [body, note] = textOf(short).split(/\n(?=\[… \d+ of)/);
      const [, left, whole] = /(\d+) of (\d+) characters left out/.exec(note ?? '') ?? [];
      expect(Number(whole)).toBe(textOf(long).length);
      expect(Number(left)).toBe(textOf(long).length - (body ?? '').length);
      expect(textOf(short).length).toBeLessThan(textOf(request).length);
      request = short;
      cuts++;
    }
    expect(cuts).toBe(2);
  });

  it('say once what is left out of a request of several texts, and count it against the original', () => {
    const wish = (name: string) =>
      Array.from({ length: 150 }, (_, index) => `Sentence ${index} asks for ${name} ${index}.`).join(' ');
    const template = lines(40, 'Rule of the house number');
    const earlier = userMessage(template);
    const original = userMessage([
      { type: 'text', text: `${template}\n${wish('feature')}` },
      { type: 'text', text: wish('page') },
    ]);
    const rest = [assistantMessage('ok'), userMessage('And now?')];
    let request = original;
    for (const room of [2_400, 1_200]) {
      const requests = [earlier, request];
      request = at(keep(requests, [...requests, ...rest], room), 1);
      const notes = [...textOf(request).matchAll(/\[… (\d+) of (\d+) characters left out/g)];
      expect(notes).toHaveLength(1);
      const body = textOf(request).slice(0, notes[0]?.index).trimEnd();
      expect(notes[0]?.slice(1).map(Number)).toEqual([
        textOf(original).length - body.length,
        textOf(original).length,
      ]);
    }
  });

  it('leave the room that a cut first request gives up to the other requests', () => {
    const wish = (name: string, length: number) =>
      Array.from({ length }, (_, index) => `Sentence ${index} asks for ${name} ${index}.`).join(' ');
    const requests = [
      wish('start', 300),
      ...Array.from({ length: 4 }, (_, index) => wish(`part ${index}`, 60)),
    ].map((text) => userMessage(text));
    const messages = [...requests, assistantMessage('done'), userMessage('And now?')];
    const room = meter.messages(requests.slice(1)) / 0.75;
    const kept = keep(requests, messages, room);
    expect(kept.slice(1)).toEqual(requests.slice(1));
    expect(meter.messages(kept)).toBeLessThanOrEqual(room);
  });

  it('never become longer, and always say how much of the original is left out', () => {
    const words = [
      'Fix',
      'the login',
      'of',
      'src/a.ts',
      '7 entries',
      '登录',
      '- item',
      '\n\n',
      '. ',
      'Done.',
    ];
    const short =
      'keep 页面 登录 7 登录 keep 修复 src/a.ts .  登录 登录 \n keep 修复 登录 \n never never \n 修复 页面 bitte 登录 .  登录 7 登录 7 页面 登录 登录 keep 登录 keep 登录 never 修复 登录 登录 修复 \n 页面 7 \n 登录 never';
    const parts = (maxLength: number) => fc.array(fc.constantFrom(...words), { minLength: 1, maxLength });
    const text = fc.oneof(parts(20), parts(300));
    const texts = fc.array(
      text.map((parts) => parts.join(' ')),
      { minLength: 1, maxLength: 3 },
    );
    const rooms = fc.array(fc.integer({ min: 10, max: 1_000 }), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(fc.array(texts, { minLength: 1, maxLength: 5 }), rooms, (given, sizes) => {
        const originals = given.map((each) =>
          userMessage(each.map((text) => ({ type: 'text' as const, text }))),
        );
        const lengths = new Map(originals.map(({ id, content }) => [id, textOf(content).length]));
        let requests: readonly Message[] = originals;
        for (const room of sizes.toSorted((one, other) => other - one)) {
          const before = new Map(requests.map(({ id, content }) => [id, textOf(content).length]));
          requests = keep(requests, [...requests, assistantMessage('ok'), userMessage('And now?')], room);
          for (const { id, content } of requests) {
            const kept = textOf(content);
            expect(kept.length).toBeLessThanOrEqual(before.get(id) ?? 0);
            const [note, left, whole] = /\n\[… (\d+) of (\d+) characters left out.*$/.exec(kept) ?? [''];
            if (note === '') continue;
            expect(Number(whole)).toBe(lengths.get(id));
            expect(Number(left)).toBe(Number(whole) - (kept.length - note.length));
          }
        }
      }),
      // What can be left out is hardly longer than the note about it.
      { examples: [[[[short]], [10]]] },
    );
  });
});
