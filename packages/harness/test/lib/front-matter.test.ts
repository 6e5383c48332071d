import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { parseFrontMatter } from '../../src/lib/front-matter.js';

describe('parseFrontMatter', () => {
  it('splits data and body, whatever ends the lines', () => {
    for (const end of ['\n', '\r\n']) {
      const text = ['---', 'name: a', 'tools: [b, c]', '---', '', 'Body', '--- not a fence', 'more'].join(
        end,
      );
      const { data, body } = parseFrontMatter(text, 'a.md');
      expect(data).toEqual({ name: 'a', tools: ['b', 'c'] });
      expect(body.split(end)).toEqual(['Body', '--- not a fence', 'more']);
    }
  });

  it('takes a file without front matter, or with an empty one, as all body', () => {
    expect(parseFrontMatter('Hello\n---\nthere', 'a.md')).toEqual({ data: {}, body: 'Hello\n---\nthere' });
    expect(parseFrontMatter('---\n---\nHello', 'a.md')).toEqual({ data: {}, body: 'Hello' });
    expect(parseFrontMatter('\uFEFF---\nname: a\n---', 'a.md')).toEqual({ data: { name: 'a' }, body: '' });
  });

  it.each([
    ['---\nname: a\n', 'no second ---'],
    ['---\n- a\n---\n', 'must be a mapping'],
    ['---\na: [\n---\n', 'is not valid YAML'],
    ['---\nname: a\ntools: [b]\nname: c\n---\n', 'repeats a key: name, tools, name'],
    [`---\nname: a\nx: {${'a, '.repeat(3_000)}}\n---\n`, 'is longer than 8192 characters'],
    [`---\na: ${'{'.repeat(8_000)}\n---\n`, 'nests deeper than 32'],
    [`---\na: ${'[{ a: '.repeat(900)}\n---\n`, 'nests deeper than 32'],
    [`---\na:\n  ${'- '.repeat(4_000)}\n---\n`, 'nests deeper than 32'],
    [`---\n${'? '.repeat(4_000)}\n---\n`, 'nests deeper than 32'],
    ['---\n__proto__: { name: 5 }\n---\n', 'not a setting'],
    [
      '---\na: &a [x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: [*c,*c,*c,*c]\n---\n',
      'is not valid YAML',
    ],
  ])('refuses %j with the name of the file', (text, message) => {
    expect(() => parseFrontMatter(text, 'skills/a.md')).toThrow('skills/a.md');
    expect(() => parseFrontMatter(text, 'skills/a.md')).toThrow(message);
  });

  it('reads back any data and any body', () => {
    const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean());
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[a-z_]{1,8}$/), scalar), fc.string(), (data, body) => {
        const text = `---\n${stringify(data)}---\n${body}`;
        expect(parseFrontMatter(text, 'a.md')).toEqual({ data, body: body.trim() });
      }),
    );
  });
});
