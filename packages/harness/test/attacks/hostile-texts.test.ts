import { compaction } from '@x/compaction';
import { defineTool, RuntimeContext } from '@x/core';
import { memory } from '@x/memory';
import { ScriptedModel } from '@x/testkit';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { allowsCommand, catchesCommand } from '../../src/capabilities/permissions/command-pattern.js';
import { HarnessAgent, permissions, workspaceTools } from '../../src/index.js';
import { scratch } from '../support.js';

const LENGTH = 100_000;
/** Milliseconds of CPU time of one piece of work: five times what is promised, as other work of the process counts too. */
const LONGEST_PIECE = 1_000;

/** What patterns read again and again: their own beginnings, and runs of what they repeat. */
const PUMPS = [
  ...[
    'a',
    '0',
    ' ',
    '\n',
    '\\',
    '/',
    '=',
    '"',
    '$',
    '{',
    '|| ',
    '<<',
    '$(',
    ' → failed',
    ', 0 lines, 0 bytes',
  ],
  ...[
    '[image/png ',
    '; full text: recall ',
    'It was written to ',
    '```\n',
    '**a',
    '://a:',
    'Cookie: ',
    'curl -u ',
  ],
  ...['-----BEGIN ', '[[a', '- ', 'a/b.ts ', '../', '月', '2026-01-01T', '\u202e'],
].map((pump) => [pump, pump.repeat(Math.ceil(LENGTH / pump.length))] as const);

const cpu = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

/** Does something, and measures in CPU time for how long others had to wait meanwhile. */
async function longestPiece(work: () => Promise<unknown>): Promise<number> {
  let [last, longest, isOn] = [cpu(), 0, true];
  const tick = () => {
    const now = cpu();
    longest = Math.max(longest, now - last);
    last = now;
    if (isOn) setImmediate(tick);
  };
  setImmediate(tick);
  await work();
  await new Promise((resolve) => setImmediate(resolve));
  isOn = false;
  return longest;
}

const print = defineTool({
  name: 'print',
  description: 'Prints.',
  readOnly: true,
  input: z.strictObject({ index: z.int() }),
  execute: ({ index }) => `${PUMPS[index]?.[1]}\0`,
});
const execute = defineTool({
  name: 'execute',
  description: 'Runs.',
  input: z.strictObject({ command: z.string() }),
  execute: () => 'done',
});

it.each(PUMPS.map(([pump], index) => [pump, index] as const))(
  '100 000 characters of %j hold the process nowhere',
  async (_, index) => {
    const text = `${PUMPS[index]?.[1]}\0`;
    const model = new ScriptedModel([
      {
        text,
        toolCalls: [
          { name: 'print', input: { index } },
          { name: 'write_file', input: { path: 'a.txt', content: text } },
          { name: 'glob_files', input: { pattern: `**/${text.slice(0, 900)}` } },
          { name: 'memory_save', input: { content: text.slice(0, 3_000) } },
        ],
      },
      { text: `\`\`\`json\n${text}` },
      { text: '{"ok":true}' },
      { toolCalls: [{ name: 'execute', input: { command: `ls ${text}` } }] },
    ]);
    const agent = HarnessAgent.builder()
      .model(model)
      .workspace(scratch())
      .tools(print, execute)
      .use(
        compaction({ model: null, trigger: { tokens: 20_000 }, keep: { messages: 2 } }),
        memory({ model: null, index: ':memory:' }),
        workspaceTools(),
        permissions({ mode: 'bypass', deny: ['read(**/.env*)', 'execute(rm *)'], allow: ['execute(npm *)'] }),
      )
      .build();
    const context = RuntimeContext.of({ userId: 'mallory', sessionId: 's' });
    try {
      const output = z.strictObject({ ok: z.boolean() });
      expect(await longestPiece(() => agent.call(text, context, { output }))).toBeLessThan(LONGEST_PIECE);
      expect(await longestPiece(() => agent.call('And now?', context))).toBeLessThan(LONGEST_PIECE);
      expect(
        await longestPiece(async () => {
          allowsCommand(['npm *'], text);
          catchesCommand('rm *', text);
        }),
      ).toBeLessThan(LONGEST_PIECE);
    } finally {
      await agent.close();
    }
  },
  60_000,
);
