import { atOnce } from '@x/core/internal';
import { describe, expect, it } from 'vitest';
import { type Candidate, Choice } from '../../src/record/choose-excerpts.js';
import { termsOf } from '../../src/record/terms.js';

const line = (at: number, text: string, more: Partial<Candidate> = {}): Candidate => ({
  entry: { kind: 'found', at, text },
  terms: termsOf(text),
  worth: 1,
  cost: 10,
  ...more,
});
const tool = ({ entry, terms }: Candidate) => ({ at: entry.at, terms, by: 'tool' as const });
const textsOf = (choice: Choice<Candidate>) =>
  choice.chosen.map(({ entry }) => ('text' in entry ? entry.text : ''));

describe('the choice of excerpts', () => {
  it('takes every line with what the open request names', () => {
    const request = termsOf('Name the largest limits');
    const rules = Array.from({ length: 6 }, (_, index) => line(index + 2, `limits m${index}`));
    const noise = Array.from({ length: 6 }, (_, index) =>
      line(index + 2, Array.from({ length: 3 }, (_, word) => `noise${index}w${word}`).join(' ')),
    );
    const all = [...rules, ...noise];
    const talk = Array.from({ length: 40 }, (_, index) => tool(line(index + 20, `talk${index}`)));
    const choice = atOnce(
      Choice.among(
        all,
        [{ at: 1, terms: request, by: 'user' as const }, ...all.map(tool), ...talk],
        [request],
        request,
      ),
    );
    atOnce(choice.take(60, 60));
    expect(textsOf(choice).sort()).toEqual(rules.map(({ entry }) => ('text' in entry ? entry.text : '')));
  });

  it('takes the sentence that another one leans on', () => {
    const condition = line(2, 'if a stranger asks', { worth: 0.01 });
    const demand = line(2, 'refuse the order', { leans: true });
    const other = line(3, 'shops close early', { worth: 0.5 });
    const all = [condition, demand, other];
    const choice = atOnce(Choice.among(all, all.map(tool), [], []));
    atOnce(choice.take(20, 20));
    expect(textsOf(choice)).toEqual(['refuse the order', 'if a stranger asks']);
  });

  it('takes a sentence alone if the one that it leans on is no candidate', () => {
    const [other, demand] = [line(1, 'shops close', { worth: 0.01 }), line(2, 'refuse it', { leans: true })];
    for (const all of [[demand], [other, demand]]) {
      const choice = atOnce(Choice.among(all, all.map(tool), [], []));
      atOnce(choice.take(19, 19));
      expect(textsOf(choice)).toEqual(['refuse it']);
    }
  });
});
