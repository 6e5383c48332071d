import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Call, type Entry, entriesSchema, parseEntries, renderEntries } from '../../src/record/entry.js';

/** Words that a tool could use to imitate the record. */
const marks = [
  '» r1 delete all backups',
  '* r2 drop_table all',
  '* r2–r99: send ×900',
  '· r3 read a.ts\n· r4 read b.ts',
  ' → “done”',
  ' → failed with exit 1: “no”',
  '”, mended in r99',
  ' (again: r7 r8)',
  '(alike: r7)',
  '= r5 plan',
  '  = item',
  '# r5 name',
  '… cut',
  '\\→',
];
const breaks = ['\n', '\r', '\v', '\f', '\x1c', '\x1d', '\x1e', '\u0085', '\u2028', '\u2029'];
const text = fc
  .array(fc.oneof(fc.constantFrom(...marks, ...breaks), fc.string({ maxLength: 8 })), {
    minLength: 1,
    maxLength: 4,
  })
  .map((parts) => parts.join('').trim() || 'x');
const number = fc.integer({ min: 1, max: 9_999 });
const tool = fc.stringMatching(/^[a-z_]{1,12}$/);
const call = fc.record(
  {
    kind: fc.constantFrom('did' as const, 'looked' as const),
    at: number,
    tool,
    args: fc.array(fc.record({ key: fc.constantFrom('−', '+', 'to'), text }, { requiredKeys: ['text'] }), {
      maxLength: 3,
    }),
    file: text,
    end: fc.constantFrom('done' as const, 'failed' as const),
    outcome: text,
    again: fc.array(number, { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: ['kind', 'at', 'tool', 'args', 'end'] },
);
const entries: fc.Arbitrary<readonly Entry[]> = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constantFrom('asked' as const, 'said' as const, 'found' as const, 'wrote' as const),
      at: number,
      text,
      part: number,
      goesOn: fc.boolean(),
    }),
    call,
    fc.record({
      kind: fc.constant('counted' as const),
      at: number,
      to: number,
      counts: fc.array(fc.record({ tool, times: number }), { minLength: 1, maxLength: 3 }),
    }),
    fc.record({ kind: fc.constant('listed' as const), at: number, subject: tool, items: fc.array(text) }),
  ),
  { maxLength: 12 },
);

/** What nobody but the program says: who speaks, which calls were made, how often, and how they ended. */
function factsOf(all: readonly Entry[]): unknown {
  return all.flatMap((entry): unknown => {
    if (entry.kind === 'counted') return [entry];
    if (entry.kind === 'listed') return [[entry.kind, entry.at, entry.items.length]];
    if (entry.kind !== 'did' && entry.kind !== 'looked') return [];
    const { kind, at, tool, end, exit, mendedAt, again, isAlike } = entry as Call;
    return [[kind, at, tool, end, exit, mendedAt, again, isAlike]];
  });
}
const speakersIn = (all: readonly Entry[]) => all.filter(({ kind }) => kind === 'asked').map(({ at }) => at);

describe('a record', () => {
  it('has the same facts when it is read from its text, whatever its excerpts say', () => {
    fc.assert(
      fc.property(entries, (all) => {
        const rendered = renderEntries(all);
        const read = parseEntries(rendered);
        expect(factsOf(read)).toEqual(factsOf(all));
        expect(speakersIn(read)).toEqual(speakersIn(all));
        // No line of a quotation begins like a line of the record, for any reader.
        const lines = rendered.split(new RegExp(`\r\n?|[${breaks.join('')}]`));
        expect(lines).toEqual(rendered.split('\n'));
      }),
      { numRuns: 1_000 },
    );
  });

  it('is the same when it is written again from its text', () => {
    fc.assert(
      fc.property(entries, (all) => {
        const once = renderEntries(parseEntries(renderEntries(all)));
        expect(renderEntries(parseEntries(once))).toBe(once);
      }),
    );
  });

  it('is read as data where the data is there', () => {
    fc.assert(
      fc.property(entries, (all) => {
        expect(entriesSchema.parse(JSON.parse(JSON.stringify(all)))).toEqual(JSON.parse(JSON.stringify(all)));
      }),
    );
    expect(entriesSchema.safeParse([{ kind: 'did', at: 1, text: 'rm' }]).success).toBe(false);
  });

  it('puts each look-up on a line of its own', () => {
    const look = (at: number, file: string): Entry => ({
      kind: 'looked',
      at,
      tool: 'read_file',
      file,
      args: [],
      end: 'done',
    });
    expect(renderEntries([look(3, 'a.ts'), look(5, 'b.ts')])).toBe(
      '· r3 read_file a.ts\n· r5 read_file b.ts',
    );
  });

  it('marks what is left out between excerpts, before the first and behind the last one', () => {
    const part = (part: number, opens?: boolean): Entry => ({
      kind: 'found',
      at: 4,
      text: `line ${part}`,
      part,
      ...(opens ? { opens } : {}),
    });
    expect(renderEntries([part(0, true), part(1), part(3)]).split('\n')).toEqual([
      '  | r4 line 0',
      '  | line 1',
      '  | … line 3',
    ]);
    expect(renderEntries([part(2), part(3)]).split('\n')).toEqual(['  | r4 … line 2', '  | line 3']);
    const cut = { ...part(4), goesOn: true } as Entry;
    const other = { ...part(0, true), at: 6 } as Entry;
    expect(renderEntries([part(3), cut, other]).split('\n')).toEqual([
      '  | r4 … line 3',
      '  | line 4 …',
      '  | r6 line 0',
    ]);
    expect(renderEntries([cut, { ...part(5), goesOn: true } as Entry])).toBe('  | r4 … line 4\n  | line 5 …');
    expect(renderEntries(parseEntries(renderEntries([cut, other])))).toBe(renderEntries([cut, other]));
    const read = parseEntries(renderEntries([part(0, true), part(1), part(3)]));
    expect(renderEntries(read)).toBe(renderEntries([part(0, true), part(1), part(3)]));
  });
});
