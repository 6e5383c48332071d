import { tiktokenCounter } from '@x/compaction/tiktoken';
import { assistantMessage, type Message, toolResultMessage, userMessage } from '@x/core';
import { compareStrategies } from '@x/replay';
import { expect, it } from 'vitest';
import type { Recording } from '../src/read-recordings.js';
import { replayRecordings, strategies } from '../src/replay.js';

const FILES = 40;
const options = { window: 32_000, counter: tiktokenCounter() };

/** A conversation that looks at one thing after the other, and comes back to an early one at every third step. */
function recordingOf(domain: string): Recording {
  const messages: Message[] = [userMessage(`Work through the open ${domain}.`, stamp(domain, 0))];
  const call = (name: string, input: Record<string, string>, output: string) => {
    const use = { id: `${domain}-${messages.length}`, name };
    messages.push(
      assistantMessage([{ type: 'tool_use', ...use, input }], stamp(domain, messages.length)),
      toolResultMessage(use, output, stamp(domain, messages.length + 1)),
    );
  };
  for (let file = 0; file < FILES; file++) {
    const lines = Array.from({ length: 120 }, (_, line) => `${domain} has words in line ${line}`).join('\n');
    call(
      'read_file',
      { path: `src/${domain}/part-${file}.ts` },
      `export const ${domain}Value${file} = 1;\n${lines}`,
    );
    if (file % 3 === 2) call('edit_file', { path: `src/${domain}/part-${file >> 1}.ts` }, 'ok');
  }
  messages.push(assistantMessage('Done.', stamp(domain, messages.length)));
  const conversation = { format: 'made up', messages, usage: [], compactions: [], unread: {} };
  return { domain, conversation };
}

function stamp(domain: string, number: number) {
  return { id: `${domain}-${number}`, createdAt: '2026-01-01T00:00:00.000Z' };
}

it('sees our compactor inside the window, and ahead of a tail in what it keeps', async () => {
  const { conversation } = recordingOf('coding');
  const compared = await compareStrategies(conversation, strategies, options);
  const retained = (name: string) =>
    compared.strategies[name]?.references.filter((reference) => reference.retained).length ?? 0;
  expect(compared.strategies.ours?.reductions).toBeGreaterThan(0);
  expect(compared.strategies.ours?.overflows).toBe(0);
  expect(retained('ours')).toBeGreaterThan(retained('tail-20'));
});

it('shows every domain by itself, all together, and what must be 0', async () => {
  const text = await replayRecordings([recordingOf('coding'), recordingOf('orders')], options.window);
  for (const title of [
    'coding: 1',
    'orders: 1',
    'All that reach the trigger: 2',
    'All: 2',
    'everything',
    'ours',
  ])
    expect(text).toContain(title);
  expect(text).toMatch(/counterpart: 0\n\n.*accounts for: 0$/);
});
