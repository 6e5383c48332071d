import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { tiktokenCounter } from '../../src/tiktoken/tiktoken-counter.js';
import { referenceCount } from './reference.js';
import { anyText, families } from './texts.js';

const samples: Readonly<Record<string, string>> = {
  empty: '',
  english:
    'It’s the developers’ job — isn’t it? — to keep e.g. 3.14159 and $1,000,000.00 apart.\n\nYes, WE’LL do.',
  code: readFileSync(new URL('../../src/tiktoken/merge.ts', import.meta.url), 'utf8'),
  json: JSON.stringify(
    { id: 42, tags: ['a', 'b'], nested: { ratio: 0.25, none: null, text: 'line\n"quoted"' } },
    null,
    2,
  ),
  markdown:
    '# Title\n\n* **bold** [link](https://example.com/path?query=1#part)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n',
  chinese: '长期运行的智能体需要在有限的上下文窗口内记住重要的信息，同时丢弃不再需要的内容。',
  japanese: '東京特許許可局で、カタカナとひらがなを混ぜた文章を書きます。',
  korean: '긴 대화를 요약하면 중요한 결정이 사라질 수 있습니다.',
  russian: 'Съешь же ещё этих мягких французских булок, да выпей чаю.',
  arabic: 'يجب أن يتذكر الوكيل ما قِيلَ سابقًا، حتى بعد إعادة التشغيل.',
  hebrew: 'שָׁלוֹם עולם, מה שלומך היום?',
  devanagari: 'सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता प्राप्त है।',
  thai: 'ภาษาไทยไม่มีช่องว่างระหว่างคำ',
  greek: 'Ξεσκεπάζω τὴν ψυχοφθόρα βδελυγμία',
  vietnamese: 'Tiếng Việt có nhiều dấu: ắ ằ ẳ ẵ ặ, được viết tổ hợp lẫn tách rời a\u0306\u0301.',
  emoji: '👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇩🇪🇫🇷 1️⃣ ☺️ 😀😀😀',
  'special tokens': '<|endoftext|> and <|endofprompt|><|im_start|>system<|fim_middle|>',
  'lone surrogates': '\ud83d x \ude00\ud83d \udfff\ud800 a\ud800b',
  base64: Buffer.from('The quick brown fox jumps over the lazy dog'.repeat(4)).toString('base64'),
};

describe('the counts of tiktokenCounter', () => {
  const counter = tiktokenCounter();

  // U+0085 is a space to Rust and not to JavaScript, U+FEFF the other way round.
  it.each(['\u0085', '\ufeff'])('takes %j for what tiktoken takes it for', (character) => {
    for (const text of [
      character,
      ` ${character}0`,
      `a${character}b`,
      `\n${character}\n`,
      character.repeat(3),
    ]) {
      expect(counter.count(text)).toBe(referenceCount(text));
    }
  });

  beforeAll(() => {
    counter.load();
    // js-tiktoken takes its time to load.
    referenceCount('');
  }, 60_000);

  it.each(Object.entries(samples))('counts %s as js-tiktoken does', (_, text) => {
    expect(counter.count(text)).toBe(referenceCount(text));
  });

  it('counts any text as js-tiktoken does', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(counter.count(text)).toBe(referenceCount(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each(Object.keys(families))('counts a run of %s as js-tiktoken does', (family) => {
    for (const length of [1, 2, 3, 8, 40, 132, 300]) {
      const text = families[family]?.(length) ?? '';
      expect(counter.count(text)).toBe(referenceCount(text));
    }
  });

  it('counts texts that do not fit the buffer like those that do', () => {
    const line = Object.values(samples).join(' ');
    const text = `${line}\n`.repeat(12);
    expect(text.length).toBeGreaterThan(40_000 / 3);
    for (const long of [
      text,
      text + text,
      'word '.repeat(3_276),
      'word '.repeat(3_277),
      '中'.repeat(300) + text,
    ]) {
      expect(counter.count(long)).toBe(referenceCount(long));
    }
  });

  it('is not misled by what an earlier, longer text left in the buffer', () => {
    const texts = [
      ["x're", "x'r"],
      ["x's", "x'"],
      ["'ll", "'l"],
      ['1234', '12'],
      ['  \n', '  '],
      ['中文字', '中'],
    ] as const;
    for (const [earlier, text] of texts) {
      counter.count(earlier);
      expect(counter.count(text)).toBe(referenceCount(text));
    }
  });

  it.each(Object.keys(families))('gets through 200,000 characters of %s', (family) => {
    // The counts of two lengths of a run must agree; a quadratic merge would not come to an end within the time limit.
    const [short = 0, long = 0] = [20_000, 200_000].map((length) =>
      counter.count(families[family]?.(length) ?? ''),
    );
    expect(long / short).toBeGreaterThan(9.8);
    expect(long / short).toBeLessThan(10.2);
  });
});

describe('tiktokenCounter', () => {
  it('is the same object for all', () => {
    expect(tiktokenCounter().name).toBe('o200k_base');
    expect(tiktokenCounter()).toBe(tiktokenCounter());
  });

  it('takes the names of special tokens as ordinary text', () => {
    expect(tiktokenCounter().count('<|endoftext|>')).toBeGreaterThan(1);
  });

  it('loads nothing when imported or created, and its data with load', () => {
    const module = fileURLToPath(new URL('../../src/tiktoken/tiktoken-counter.ts', import.meta.url));
    const script = `
      import { createRequire } from 'node:module';
      const { tiktokenCounter } = await import(${JSON.stringify(module)});
      const { cache } = createRequire(import.meta.url);
      const loaded = () => Object.keys(cache).filter((path) => path.includes('js-tiktoken')).length;
      const counter = tiktokenCounter();
      const before = loaded();
      counter.load();
      console.log(JSON.stringify([before, loaded(), counter.count('Hello world')]));
    `;
    const output = execFileSync(
      process.execPath,
      ['--conditions=@x/source', '--import', 'tsx', '--input-type=module', '--eval', script],
      { encoding: 'utf8', cwd: fileURLToPath(new URL('.', import.meta.url)) },
    );
    expect(JSON.parse(output)).toEqual([0, 1, 2]);
  }, 60_000);
});
