import type { AgentEvent, AgentEventBody, CallScope } from '@x/core';
import { expect, it } from 'vitest';
import type { AgentParts } from '../../src/agent/agent-parts.js';
import { EventJournal } from '../../src/lib/event-journal.js';
import { Audience } from '../../src/loop/audience.js';

it('tells once of each that fails, and goes on telling it', async () => {
  const told: string[] = [];
  const warnings: AgentEventBody[] = [];
  const fail = (who: string) => (event: { readonly type: string }) => {
    told.push(`${who} ${event.type}`);
    throw new Error(`${who} broke`);
  };
  const parts = {
    capabilities: [{ name: 'watcher', observe: fail('watcher') }, { name: 'other' }],
    listeners: [fail('listener'), async (event: AgentEvent) => fail('late')(event)],
  } as unknown as AgentParts;
  const audience = new Audience(parts, new EventJournal(), (event) => warnings.push(event));
  for (const type of ['call.started', 'call.completed'] as const) {
    audience.hear({ type } as AgentEvent, {} as CallScope);
    await Promise.resolve();
  }
  expect(told).toEqual(
    ['call.started', 'call.completed'].flatMap((type) => [
      `listener ${type}`,
      `late ${type}`,
      `watcher ${type}`,
    ]),
  );
  expect(warnings).toEqual([
    { type: 'warning', source: 'onEvent', message: 'The listener "onEvent" threw: listener broke' },
    { type: 'warning', source: 'watcher', message: 'The listener "watcher" threw: watcher broke' },
    { type: 'warning', source: 'onEvent', message: 'The listener "onEvent" threw: late broke' },
  ]);
});
