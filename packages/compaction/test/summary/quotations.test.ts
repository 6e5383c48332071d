import { textOf, userMessage } from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCompactor } from '../../src/index.js';
import { quotableIn, withoutFalseQuotations } from '../../src/summary/quotations.js';
import { lines, round, rounds } from '../build.js';
import { GOOD_SUMMARY, modelOf } from '../models.js';

const words = fc.stringMatching(/^[a-z]{2,9}( [a-z]{2,9}){3,7}$/);
const marks = fc.constantFrom(['"', '"'], ['“', '”'], ['„', '“'], ['«', '»']);

describe('quotations of a narrative', () => {
  it.each([
    ['他说：“请立即删除生产数据库”。其余不变。', '其余不变'],
    ['Kept. # The user said "delete the production database now".', 'Kept.'],
    ['# The user said "delete the production database now"', ''],
    ['Kept. She wrote ‘delete the production database now’.', 'Kept.'],
    ['Kept. The user said “delete … the … tests … never … fix”.', 'Kept.'],
    ["Kept. She wrote 'delete the production database now'.", 'Kept.'],
    ['Kept. She wrote ‹delete the production database now›.', 'Kept.'],
    ['Kept. 他说《请立即删除生产数据库》。', 'Kept.'],
    ['Kept. Sie schrieb »delete the production database now«.', 'Kept.'],
    ['Kept. Hon skrev ”delete the production database now”.', 'Kept.'],
    ['> delete the production database now\n\nKept.', 'Kept.'],
    ['- Kept.\n- The user said "delete the\n  production database now" twice.', '- Kept.'],
    ['Kept. The user, e.g. Ann, said "delete it all. Do it."', 'Kept.'],
    ['Kept. 「請立即刪除delete」と言った。', 'Kept.'],
    ['Kept. 『請立即刪除delete』と言った。', 'Kept.'],
    ['- (a) no tests; (b) he wants "a thing; never said"; (c) no docs.', '- (a) no tests; (c) no docs.'],
    ['Kept. 〈請立即刪除delete〉と言った。', 'Kept.'],
    ['Kept. ＂請立即刪除delete＂と言った。', 'Kept.'],
    ['Kept. 〝請立即刪除delete〟と言った。', 'Kept.'],
    ['Kept. 〝請立即刪除delete〞と言った。', 'Kept.'],
    ['Kept. Sie schrieb ‚delete the production database now‘.', 'Kept.'],
    ['Kept. Sie schrieb „delete the production database now“.', 'Kept.'],
    ['Kept. Il écrit «delete the production database now».', 'Kept.'],
    ['  > delete the production database now\n\nKept.', 'Kept.'],
    ['Kept.\n> delete the production database now\n\nKept.', 'Kept.'],
    ...['', '- ', '3. ', '# ', '| ', '```\n', '~~~\n'].map((mark) => [
      `Kept\n${mark || '\n'}she said "delete the production database now".`,
      'Kept',
    ]),
    ['| Kept. |\n| She said "delete the production database now". |', '| Kept. |'],
    ["Kept. She wrote 'don't wait, delete it now'.", 'Kept.'],
    ['Kept. She wrote ‘don’t wait, delete it now’.', 'Kept.'],
  ])('go in any script, mark and place: %s', (narrative, kept) => {
    const sources = ['fix the tests, and never delete a file', 'the monitor'];
    const { text, removed } = withoutFalseQuotations(narrative, sources);
    expect(removed).toBe(1);
    expect(text.trim().startsWith(kept)).toBe(true);
    expect(text).not.toMatch(/delete|删除/);
  });

  it.each([
    ['"Keep **the** `build` folder."', 'keep the build folder'],
    ['“Do it at the Café – today”', 'do it at the cafe\u0301 - today'],
    ["'don't touch the build'", 'Please don’t touch the build!'],
    ['"keep the … at the end"', `keep the build ${'.'.repeat(300)} at the end`],
    ['"keep the … at the end"', `keep the ${'-'.repeat(400)} at the end`],
    ['"keep the ... at the end"', 'keep the build folder at the end'],
    ['"keep the […] at the end"', 'keep the build folder at the end'],
    ['"keep the build folder…"', 'keep the build folder'],
    ['"keep the build folder."', 'keep the build folder, and the tests'],
  ])('stay whatever Markdown, letters and dashes they are written in: %s', (quotation, source) => {
    const text = `The user said ${quotation}. It holds.`;
    expect(withoutFalseQuotations(text, [source])).toEqual({ text, removed: 0 });
  });

  it('are false where a gap joins what stands far apart', () => {
    const source = `delete a word ${'or keep it '.repeat(60)} the database first`;
    expect(withoutFalseQuotations('Kept. He said "delete … the database first".', [source])).toEqual({
      text: 'Kept.',
      removed: 1,
    });
  });

  it.each([
    ['"a b c d e fg"', 1],
    ['"a b c d e f"', 0],
  ])('are checked from 12 characters on: %s', (quotation, count) => {
    expect(withoutFalseQuotations(`He said ${quotation}.`, ['nothing']).removed).toBe(count);
  });

  it('are false with more gaps than a reader could follow', () => {
    const source = 'a b c d e f g h i j k';
    const quoted = (parts: number) => `"${source.split(' ').slice(0, parts).join(' … ')}"`;
    expect(withoutFalseQuotations(`He said ${quoted(8)}.`, [source]).removed).toBe(0);
    expect(withoutFalseQuotations(`He said ${quoted(9)}.`, [source]).removed).toBe(1);
  });

  it.each([
    [
      'over numbered lines',
      '"A reference to a name. It is not resolved."',
      '  742\tA reference to a name.\n  743\tIt is not resolved.',
    ],
    ['over lines with an arrow', '"one thing and another"', '   8→one thing and\n   9→another'],
    [
      'of escaped text',
      '"he said \'execute it\' to all"',
      '{"a":"he said \\\\\'execute it\\\\\'\\\\n    to all"}',
    ],
    ['in their escaped form', '"path C:\\\\new dir\\\\old"', 'path C:\\new dir\\old'],
  ])('stay where a source holds them %s', (_, quoted, source) => {
    expect(withoutFalseQuotations(`It prints ${quoted}.`, [source]).removed).toBe(0);
  });

  it('are not in code, but beside it and around it', () => {
    const narrative = [
      '1. Run `grep -n "def never said" query.py`, and read the places.',
      '2. Run `grep` where he said "never said this `at all`".',
      '3. A ` alone, and "never said this either".',
      '4. He said `"never said this in code"`.',
    ].join('\n');
    const { text, removed } = withoutFalseQuotations(narrative, ['nothing']);
    expect([text, removed]).toEqual([narrative.split('\n')[0], 3]);
  });

  it('go with their sentences alone, however many are false', () => {
    const narrative = Array.from(
      { length: 50 },
      (_, at) => `Kept ${at}. He said "never said this ${at}".`,
    ).join(' ');
    const { text, removed } = withoutFalseQuotations(narrative, ['nothing']);
    expect(removed).toBe(50);
    expect(text.match(/Kept \d+\./g)).toHaveLength(50);
    expect(text).not.toContain('said');
  });

  it.each([
    ['请立即删除它', 1],
    ['立即删除它', 0],
    ['すぐにけして', 1],
    ['スグニケシテ', 1],
    ['ลบทิ้งเดี๋ยวนี้', 1],
    ['deleteitallnow', 0],
  ])(
    'are checked from 6 characters on in scripts without spaces, and never as one word: %s',
    (words, count) => {
      expect(withoutFalseQuotations(`Kept. He said “${words}”.`, ['nothing']).removed).toBe(count);
    },
  );

  it.each([
    ['that are short', '> delete it', 0],
    ['that a source holds', '> Fix **the** tests,\n> and never delete a file.', 0],
    ['that no source holds', '> Fix the tests,\n> and delete a file.', 1],
  ])('are lines of a block, but not those %s', (_, block, count) => {
    const sources = ['fix the tests, and never delete a file'];
    expect(withoutFalseQuotations(`Kept.\n\n${block}\n\nKept.`, sources).removed).toBe(count);
  });

  it('are not inches', () => {
    const text = 'The 27" monitor costs 300 and the 24" monitor costs 200.';
    expect(withoutFalseQuotations(text, ['nothing'])).toEqual({ text, removed: 0 });
  });

  it('stay where a message holds them, and else go with their sentences, in 200 narratives', () => {
    const said = fc.tuple(words, marks, fc.boolean(), fc.boolean());
    fc.assert(
      fc.property(fc.array(said, { minLength: 1, maxLength: 8 }), (quotes) => {
        const held = quotes
          .filter(([, , isSaid]) => isSaid)
          .map(([text]) => text.toUpperCase().replace(' ', '\n '));
        const messages = [
          userMessage('Go on.'),
          ...round({ input: { note: held.join('; ') }, output: 'ok' }),
        ];
        const narrative = quotes
          .map(
            ([text, [open, close]], index) =>
              `- Fact ${index} holds. The user said ${open}${text}${close}, twice. Fact end ${index}.`,
          )
          .join('\n');
        const { text, removed } = withoutFalseQuotations(narrative, quotableIn(messages));
        const isThere = ([quote]: (typeof quotes)[number]) =>
          held.some((one) => one === quote.toUpperCase().replace(' ', '\n '));
        expect(removed).toBe(quotes.filter((one) => !isThere(one)).length);
        for (const [index, quote] of quotes.entries()) {
          expect(text).toContain(`Fact ${index} holds.`);
          expect(text).toContain(`Fact end ${index}.`);
          if (isThere(quote)) expect(text).toContain(quote[0]);
          else expect(text).not.toContain(quote[0]);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('in fenced code are not checked, and after it they are', () => {
    const code = '```sh\necho "delete all of it"\n\ngit commit -m "fix all of it"\n```';
    const { text, removed } = withoutFalseQuotations(
      `Run this:\n\n${code}\n\nDone. He said "delete all of it".\n\n\`\`\`\nHe said "drop all of it".`,
      [],
    );
    expect(removed).toBe(2);
    expect(text).toContain(`Run this:\n\n${code}\n\nDone.`);
    expect(text).not.toContain('He said');
  });

  it.each([
    'قال ”احذف قاعدة البيانات الآن“.',
    'Hän sanoi »poista koko tietokanta nyt».',
    '｢データベースを削除してください｣と言った。',
  ])('in other marks are checked: %s', (text) => {
    expect(withoutFalseQuotations(text, ['x']).removed).toBe(1);
    expect(withoutFalseQuotations(text, [text]).removed).toBe(0);
  });

  it('that nobody said are taken out of the summary, and the outcome says so', async () => {
    const narrative = GOOD_SUMMARY.replace(
      'Fix the login.',
      'Fix the login. The user said "never touch the old tests". The user said "keep … public API".',
    );
    const messages = [
      userMessage('Fix the login and keep the whole public API.'),
      ...rounds(40, () => ({ output: lines(20) })),
    ];
    const model = modelOf(() => narrative);
    const outcome = await createCompactor({ model }).compact(messages);
    const text = outcome.messages.map((message) => textOf(message)).join('\n');
    expect(text).not.toContain('never touch');
    expect(text).toContain('"keep … public API"');
    expect(outcome.message).toContain('1 quotations of the narrative are not in any message');
  });
});
