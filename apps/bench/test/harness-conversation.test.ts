import { expect, it } from 'vitest';
import { ANSWER, Conversation } from '../src/harness-conversation.js';

interface Agent {
  readonly run?: (at: number) => boolean;
  readonly show?: (results: readonly string[]) => readonly unknown[];
  readonly stopsAt?: number;
  readonly answer?: string;
}

/** Holds a conversation of `steps`, as an agent does that is in order unless it is told otherwise. */
function hold(steps: number, agent: Agent = {}, budgetMs = 600_000): Conversation {
  const conversation = new Conversation(steps, budgetMs);
  const { run = () => true, show = (all) => all, stopsAt = Number.POSITIVE_INFINITY } = agent;
  const results: string[] = [];
  for (;;) {
    const call = conversation.next(['question', ...show(results)]);
    if (call === undefined) return conversation;
    if (run(call.at)) results.push(conversation.look(call.at));
    if (call.at === stopsAt) return conversation;
  }
}

it('finds no difference in an agent that does what it is told', () => {
  const conversation = hold(5);
  expect(conversation.askedAt).toHaveLength(6);
  expect(conversation.differences(ANSWER)).toEqual([]);
});

it('finds results wherever a message has them', () => {
  const show = (results: readonly string[]) => results.map((text) => ({ role: 'tool', content: [{ text }] }));
  expect(hold(5, { show }).differences(ANSWER)).toEqual([]);
});

it('names tool calls that were not run', () => {
  expect(hold(5, { run: (at) => at !== 3 }).differences(ANSWER)).toEqual([
    'of 5 tool calls 4 were run',
    "1 requests did not end with the last call's result",
    'the last request held 4 of 5 results',
  ]);
});

it('names what the model was not shown', () => {
  expect(hold(5, { show: (results) => results.slice(-2) }).differences(ANSWER)).toEqual([
    'the last request held 2 of 5 results',
  ]);
  expect(hold(5, { show: (results) => results.slice(0, 1) }).differences(ANSWER)).toEqual([
    "4 requests did not end with the last call's result",
    'the last request held 1 of 5 results',
  ]);
});

it('names an end that the model did not say, and another answer', () => {
  expect(hold(5, { stopsAt: 3 }).differences('')).toContain('it stopped before the model was done');
  expect(hold(5).differences('finished')).toEqual(['its answer was "finished"']);
});

it('ends when time is up, which is no difference', () => {
  const conversation = hold(1_000_000, {}, 0);
  expect(conversation.askedAt.length).toBeLessThan(1_000_000);
  expect(conversation.differences(ANSWER)).toEqual([]);
});
