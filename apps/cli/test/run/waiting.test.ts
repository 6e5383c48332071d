import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { InMemorySession, RuntimeContext } from '@x/core';
import { eventLog, HarnessAgent } from '@x/harness';
import { ScriptedModel } from '@x/testkit';
import { expect, it, onTestFinished, vi } from 'vitest';
import { chat } from '../../src/terminal/chat.js';
import { EventPrinter } from '../../src/terminal/event-printer.js';
import { answerOnce } from '../../src/terminal/once.js';

const plain = (_format: unknown, text: string) => text;
const NOTE = 'Another call runs in this session; this one waits for its end.';

it.each(['once', 'chat'])('says at once that another process has the session: %s', async (way) => {
  const workspace = mkdtempSync(join(tmpdir(), 'x-waiting-'));
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true, maxRetries: 20 }));
  const session = new InMemorySession();
  const context = RuntimeContext.of({ sessionId: 's-1' });
  const open = (model: ScriptedModel) =>
    HarnessAgent.builder().model(model).workspace(workspace).session(session).build();
  let answer = () => {};
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const asked = vi.fn();
  const slow = async () => {
    asked();
    await held;
    return { text: 'First.' };
  };
  const other = open(new ScriptedModel([slow]));
  const first = other.call('One', context);
  await vi.waitFor(() => expect(asked).toHaveBeenCalled());

  let shown = '';
  const output = new PassThrough().on('data', (chunk) => {
    shown += chunk;
  });
  const printer = new EventPrinter({ reply: output, progress: output, style: plain });
  const agent = open(new ScriptedModel([{ text: 'Second.' }]));
  const input = new PassThrough();
  const ended =
    way === 'chat'
      ? chat({
          goOn: (session) => `x run --session ${session}`,
          agent,
          context,
          model: 'm',
          events: eventLog(),
          input,
          output,
          style: plain,
          sessions: async () => [],
        })
      : answerOnce({ agent, context, printer, prompt: 'Two', goOn: () => 'x run', decide: () => ({}) });
  input.write('Two\n');
  await vi.waitFor(() => expect(shown).toContain(NOTE), { timeout: 10_000 });
  answer();
  await first;
  await vi.waitFor(() => expect(shown).toContain('Second.'), { timeout: 60_000 });
  input.end();
  await ended;
  expect(shown.split(NOTE)).toHaveLength(2);
  await Promise.all([agent.close(), other.close()]);
});
