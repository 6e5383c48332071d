// From what was said in earlier sessions to what a model of a later one is shown.
import { SessionKey, userMessage } from '@x/core';
import { expect, it, onTestFinished } from 'vitest';
import { MemoryService, memory } from '../src/index.js';
import { callScope, logSession, runTool, testWorkspace, toolContext } from './support/test-context.js';

const alice = { userId: 'alice', agentId: 'coder' };

const SAID = [
  ['s-1', 'Remember that the staging database listens on port 5433.'],
  ['s-1', 'I am allergic to peanuts.'],
  ['s-2', 'We decided to release on Thursdays, because support is there on Fridays.'],
  ['s-2', 'My dog is called Pixel.'],
  ['s-3', 'My phone number is 555-0100.'],
  ['s-4', 'My phone number is 555-0199.'],
  ['s-4', 'Remember that the printer in Oslo is named heron.'],
] as const;

it.each([
  ['which port does the staging database listen on?', '5433', 'nothing'],
  ['what food must I not have, which am I allergic to?', 'peanuts', 'nothing'],
  ['on which day do we release?', 'Thursdays', 'nothing'],
  ['what is my dog called?', 'Pixel', 'nothing'],
  ['what is my phone number now?', '555-0199', '555-0100'],
  ['what is the name of the printer in Oslo?', 'heron', 'nothing'],
])('%s is answered in a later session: %s', async (query, answer, outdated) => {
  const workspace = await testWorkspace();
  const service = new MemoryService({ workspace, maintenance: false });
  const capability = memory({ model: null, maintenance: false });
  onTestFinished(async () => {
    await service.close();
    await capability.close?.();
  });
  for (const [sessionId, text] of SAID) {
    await logSession(workspace, { ...alice, sessionId }, [userMessage(text)]);
    await service.flush(SessionKey.of({ ...alice, sessionId }));
    await service.consolidate(alice, { now: true });
  }
  const later = { ...alice, sessionId: 'later' };
  const found = await runTool(
    capability,
    'memory_search',
    { query, limit: 1 },
    toolContext(workspace, later),
  );
  expect(found).toContain(answer);
  const system = await capability.system?.(callScope(workspace, later));
  expect(system).toContain(answer);
  expect(system).not.toContain(outdated);
});
