import { assistantMessage, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { distilled } from '../../src/conversation/sentences.js';
import { ofPrograms } from '../../src/summary/user-words.js';

const PAGE = `# Findings\n\n## Facts\n\n## Open\n\n${'The store waits for the lease and writes nothing before it has it.\n'.repeat(40)}`;

describe('what someone wrote, shortened', () => {
  it('splits no character of a long text without spaces', () => {
    for (const start of ['', 'x'])
      for (const length of [80, 400])
        expect(distilled(start + '🦊'.repeat(400), length, true).isWellFormed()).toBe(true);
  });

  it('is read at both ends only where it is very long', () => {
    const shorten = (count: number) => {
      const filler = 'Step 1.\n'.repeat(count);
      return distilled(`We ship on Monday.\n${filler}The code is 4711.\n${filler}Then rest.`, 80, true);
    };
    expect(shorten(10_000)).toContain('4711');
    expect(shorten(20_000)).toBe('We ship on Monday.\n[…]\nThen rest.');
  });

  it('keeps sentences whole whose lines were broken', () => {
    const first =
      'The refund is never sent before the customer has confirmed\nthe order in writing, whatever the agent says.';
    const last = 'Use the account that the customer named first, and nothing\nelse.';
    const filler = 'Nothing of this is urgent today, and it may wait for a week\nor two.\n\n';
    const short = distilled(`${first}\n\n${filler.repeat(9)}${last}`, 260);
    expect(short).toContain(first);
    expect(short).toContain(last);
  });

  it('keeps a sentence rather than headings', () => {
    const short = distilled(
      `## Part 1\n\nWe ship on Monday.\n\n## Part 2\n\n${'x = 1;\n'.repeat(60)}`,
      34,
      true,
    );
    expect(short).toContain('We ship on Monday.');
  });
});

describe('a page of instructions', () => {
  const page = userMessage(PAGE);
  const wish = userMessage('Sort them.');

  it('is the work of a program where the user speaks right behind it', () => {
    expect(ofPrograms([page, wish])).toEqual([page]);
  });

  it('is what the user said where an answer came between, also once both stand in front of a summary', () => {
    const summary = userMessage('[CONVERSATION_SUMMARY]', {
      kind: 'summary',
      metadata: { numbers: { last: 3, standing: { [page.id]: 1, [wish.id]: 3 } } },
    });
    expect(ofPrograms([page, assistantMessage('Read.'), wish])).toEqual([]);
    expect(ofPrograms([page, wish, summary])).toEqual([]);
  });
});
