import { expect, it } from 'vitest';
import { history, readme } from '../src/guide/survey/facts.js';

it('takes a command without output for no answer, not for its status', () => {
  expect(history.read('exit 0')).toEqual([]);
  expect(history.read('exit 0\nabc Begin')).toEqual(['abc Begin']);
});

it('cuts what a README says of itself between words', () => {
  const about = readme.read(
    `[README.md, lines 1 to 60]\n# Title\n\n${'Packages for agents that run. '.repeat(20)}`,
  );
  expect(about).toMatch(/ (?:Packages|for|agents|that|run\.) …$/);
});
