// From what was said in earlier sessions to what a model of a later one is shown.
import { SessionKey, userMessage } from '@x/core';
import { expect, it, onTestFinished } from 'vitest';
import { MemoryService, memory } from '../src/index.js';
import { ManualClock } from './support/manual-clock.js';
import { scribe } from './support/models.js';
import { callScope, logSession, runTool, testWorkspace, toolContext } from './support/test-context.js';

const alice = { userId: 'alice', agentId: 'coder' };

const SAID = [
  ['s-1', '2026-01-05', 'Remember that the staging database listens on port 5433.'],
  ['s-1', '2026-01-05', 'I am allergic to peanuts.'],
  ['s-2', '2026-02-09', 'We decided to release on Thursdays, because support is there on Fridays.'],
  ['s-2', '2026-02-09', 'My dog is called Pixel.'],
  ['s-3', '2026-03-12', 'My phone number is 555-0100.'],
  ['s-4', '2026-04-20', 'My phone number is 555-0199.'],
  ['s-4', '2026-04-20', 'Remember that the printer in Oslo is named heron.'],
  ['s-5', '2026-05-02', 'Remember that the printer in Lima is named egret.'],
] as const;

// By the abilities that LongMemEval and LoCoMo ask for. How many lines the model looks at, and what must not be shown to it as true.
it.each([
  ['a fact', 'which port does the staging database listen on?', ['5433'], 1],
  ['a preference', 'what food must I not have, which am I allergic to?', ['peanuts'], 1],
  ['a decision', 'on which day do we release?', ['Thursdays'], 1],
  ['another form of a word', 'what is the name of the printer in Oslo?', ['heron'], 1],
  ['an update', 'what is my phone number now?', ['555-0199'], 1],
  ['several sessions', 'how are the printers in Oslo and Lima named?', ['heron', 'egret'], 4],
  ['a day', 'what did I tell you on February 9th, 2026 of my dog?', ['Pixel'], 1],
  ['nothing', 'whose guitar was stolen?', [], 3],
])('of what was said earlier, a later session answers %s: %s', async (_, query, answers, limit) => {
  const workspace = await testWorkspace();
  const clock = new ManualClock(Date.parse('2026-01-01T12:00:00Z'));
  const service = new MemoryService({ workspace, clock, model: scribe(), maintenance: false });
  const capability = memory({ model: null, maintenance: false });
  onTestFinished(async () => {
    await service.close();
    await capability.close?.();
  });
  for (const [sessionId, day, text] of SAID) {
    await clock.pass(Date.parse(`${day}T12:00:00Z`) - clock.now());
    const message = userMessage(text, { createdAt: new Date(clock.now()).toISOString() });
    await logSession(workspace, { ...alice, sessionId }, [message]);
    await service.flush(SessionKey.of({ ...alice, sessionId }));
    await service.consolidate(alice, { now: true });
  }
  const later = { ...alice, sessionId: 'later' };
  const found = await runTool(capability, 'memory_search', { query, limit }, toolContext(workspace, later));
  for (const answer of answers) expect(found).toContain(answer);
  if (answers.length === 0) expect(found).toBe('Nothing found.');
  const system = await capability.system?.(callScope(workspace, later));
  for (const answer of answers) expect(system).toContain(answer);
  expect(system).not.toContain('555-0100');
});
