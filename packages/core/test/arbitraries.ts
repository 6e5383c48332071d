import fc from 'fast-check';

/** Any string at all, by UTF-16 unit: NUL, lone surrogates, characters that file systems fold or normalize. */
export const anyString: fc.Arbitrary<string> = fc.oneof(
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 12 })
    .map((units) => String.fromCharCode(...units)),
  fc
    .array(fc.integer({ min: 0xd800, max: 0xdfff }), { maxLength: 6 })
    .map((units) => String.fromCharCode(...units)),
  fc
    .array(
      fc.constantFrom(
        'a',
        'A',
        'é',
        'e\u0301',
        'ß',
        'SS',
        'ı',
        'İ',
        '.',
        '/',
        '\\',
        '%',
        '%41',
        'con',
        'COM1',
        '~',
        '_',
      ),
      {
        maxLength: 6,
      },
    )
    .map((parts) => parts.join('')),
  fc.string({ unit: 'grapheme' }),
);

export const anyName: fc.Arbitrary<string> = anyString.filter((text) => text !== '');

/** Well-formed text with many characters of two UTF-16 units. */
export const wellFormedText: fc.Arbitrary<string> = fc
  .array(fc.constantFrom('a', ' ', 'é', '漢', '😀', '👩‍💻', '𠮷', '\u{10ffff}'), { maxLength: 20 })
  .map((parts) => parts.join(''));
