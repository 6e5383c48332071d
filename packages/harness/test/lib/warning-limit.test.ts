import type { AgentEvent } from '@x/core';
import { InMemorySession, RuntimeContext } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { HarnessAgent } from '../../src/index.js';
import { WarningLimit } from '../../src/lib/warning-limit.js';
import { collect, scratch } from '../support.js';

const warning = (source: string, message: string) =>
  ({ type: 'warning', source, message }) as Extract<AgentEvent, { readonly type: 'warning' }>;

describe('warnings of one source', () => {
  it('are passed on ten times a minute, and then counted', () => {
    let now = 0;
    const limit = new WarningLimit(() => now);
    const passed = (count: number, source = 'session') =>
      Array.from({ length: count }, (_, n) => limit.pass(warning(source, `${n}`))).filter(Boolean);
    expect(passed(500)).toHaveLength(10);
    expect(passed(3, 'memory')).toHaveLength(3);
    now = 59_999;
    expect(passed(1)).toEqual([]);
    now = 60_000;
    expect(passed(1)[0]?.message).toBe('0 (491 more warnings of session were left out.)');
    expect(passed(20)).toHaveLength(9);
  });

  it('reach whoever reads the call, all of them', async () => {
    const heard: string[] = [];
    const agent = HarnessAgent.builder()
      .model(new ScriptedModel(Array.from({ length: 15 }, () => ({ text: 'Hi' }))))
      .workspace(scratch())
      .session(new InMemorySession())
      .use({
        name: 'warns',
        aroundCall: async (scope, next) => {
          await scope.emit(warning('store', `The store is full, in session ${scope.state.sessionId}.`));
          await next();
        },
      })
      .onEvent((event) => {
        if (event.type === 'warning') heard.push(event.message);
      })
      .build();
    let read = 0;
    for (let call = 0; call < 15; call++) {
      const events = await collect(agent.stream('Hi', RuntimeContext.of({ sessionId: `s${call}` })));
      read += events.filter(({ type }) => type === 'warning').length;
    }
    expect(read).toBe(15);
    expect(heard).toHaveLength(10);
  });
});
