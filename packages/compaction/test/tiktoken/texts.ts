import fc from 'fast-check';

/** Scraps that the patterns treat differently from one another, to be strung together at random. */
const scraps = [
  ...[
    'a',
    'B',
    'the',
    'The',
    'THE',
    'getHTTPResponse',
    'HTTPServer',
    'snake_case_name',
    'ǅ',
    'ʰ',
    'ﬁ',
    'ß',
    'İ',
  ],
  ...["'s", "'S", "'t", "'re", "'RE", "'Ve", "'m", "'ll", "'lL", "'d", "'", "'x", "'l", '’s', "don't", "I'M"],
  ...['0', '7', '42', '123', '1234567', '٣٤٥', '½', 'Ⅷ', '１２', '²'],
  ...[
    ' ',
    '  ',
    '    ',
    '\t',
    '\n',
    '\r\n',
    '\r',
    '\n\n',
    ' \n',
    '\n ',
    '\v',
    '\f',
    '\u00a0',
    '\u3000',
    '\u2028',
  ],
  ...['\ufeff', '\u0085', '\u200b', '\u200d', '\u0000', '\u007f'],
  ...[
    '.',
    ',',
    '...',
    '/',
    '//',
    '/*',
    '*/',
    '{',
    '}',
    '":',
    '",',
    '[]',
    '=>',
    '===',
    '!@#',
    '_',
    '-',
    '--',
    '\\n',
  ],
  ...[
    '中',
    '中文字符',
    '日本語テスト',
    '한국어',
    'العربية',
    'ไทย',
    'हिन्दी',
    'क्षत्रिय',
    'Привет',
    'МИР',
    'ёж',
    'Ωμέγα',
    'עברית',
  ],
  ...[
    'é',
    'e\u0301',
    '\u0301',
    '\u0301\u0302',
    '\u093f',
    '\u20e3',
    '\ufe0f',
    '😀',
    '👩‍👩‍👧‍👦',
    '🇩🇪',
    '👍🏽',
    '𝒳',
    '𐐀',
    '𐐨',
    '𠮷',
  ],
  ...['\ud83d', '\ude00', '\ude00\ud83d', '\uffff', '\u{10ffff}', '\u{e000}'],
  ...[
    '<|endoftext|>',
    '<|endofprompt|>',
    '<|fim_prefix|>',
    '{"id": 1, "name": "x"}',
    'const x = () => y;',
    'https://example.com/a?b=1',
  ],
];

const scrappy = fc.array(fc.constantFrom(...scraps), { maxLength: 24 }).map((parts) => parts.join(''));
const units = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 24 }).map(fromCodes);
const ascii = fc.string({ unit: 'binary-ascii', maxLength: 40 });
const graphemes = fc.string({ unit: 'grapheme', maxLength: 24 });
const runs = fc
  .array(fc.tuple(fc.constantFrom(...scraps), fc.integer({ min: 1, max: 12 })), { maxLength: 4 })
  .map((parts) => parts.map(([scrap, times]) => scrap.repeat(times)).join(''));

/** Texts of every script and kind, lone surrogates and control characters included. */
export const anyText = fc.oneof(scrappy, scrappy, runs, units, ascii, graphemes);

/** Inputs of `length` UTF-16 units that are one piece, or a few, however long: what makes a naive tokenizer hang. */
export const families: Readonly<Record<string, (length: number) => string>> = {
  letter: repeating('a'),
  capitals: repeating('A'),
  'random letters': (length) => fromCodes(pseudoRandom(length, 26).map((value) => 97 + value)),
  spaces: repeating(' '),
  'spaces before a letter': (length) => `${' '.repeat(length - 1)}x`,
  tabs: repeating('\t'),
  newlines: repeating('\n'),
  'blank lines': repeating('  \n'),
  'newlines then spaces': (length) => '\n'.repeat(length / 2) + ' '.repeat(length / 2),
  ruler: repeating('='),
  slashes: repeating('/'),
  'punctuation then newlines': (length) => '!'.repeat(length / 2) + '\n/'.repeat(length / 4),
  'punctuation soup': (length) =>
    pseudoRandom(length, 14)
      .map((value) => '!@#$%^&*()_+-='[value])
      .join(''),
  chinese: (length) => fromCodes(pseudoRandom(length, 3_000).map((value) => 0x4e00 + value)),
  'chinese and capitals': repeating('中A'),
  'chinese then capitals': (length) => '中'.repeat(length / 2) + 'A'.repeat(length / 2),
  emoji: repeating('😀'),
  'emoji with joiners': repeating('👩‍👩‍👧‍👦'),
  'combining marks': repeating('\u0301\u0302'),
  'letter with marks': repeating('e\u0301\u0302'),
  apostrophes: repeating("'"),
  contractions: repeating("'s"),
  digits: repeating('7'),
};

function repeating(unit: string): (length: number) => string {
  return (length) => unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
}

function fromCodes(codes: readonly number[]): string {
  return codes.map((code) => String.fromCharCode(code)).join('');
}

/** A linear congruential generator, so that the texts are the same in every run. */
function pseudoRandom(length: number, below: number): number[] {
  let state = 12_345;
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  });
}
