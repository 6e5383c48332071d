import { InMemorySession, RuntimeContext } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { HarnessAgent } from '../../src/index.js';
import { scratch } from '../support.js';

const never = new Promise<never>(() => {});

describe('a session store that does not answer', () => {
  class Silent extends InMemorySession {
    readonly silent: string;
    constructor(silent: string) {
      super();
      this.silent = silent;
    }
    override load: InMemorySession['load'] = (key) => (this.silent === 'load' ? never : super.load(key));
    override commit: InMemorySession['commit'] = (key, change) =>
      this.silent === 'commit' ? never : super.commit(key, change);
    override lease: InMemorySession['lease'] = (key, options) =>
      this.silent === 'lease' ? never : super.lease(key, options);
  }
  it.each(['load', 'commit', 'lease'] as const)('to a %s fails the call within the limit', async (silent) => {
    const agent = HarnessAgent.builder()
      .model(new ScriptedModel([{ text: 'one' }]))
      .workspace(scratch())
      .session(new Silent(silent))
      .limits({ storeMs: 500 })
      .build();
    await expect(agent.call('Hi', RuntimeContext.of({ sessionId: 's' }))).rejects.toMatchObject({
      code: 'session_unavailable',
      outcome: silent === 'commit' ? 'unknown' : 'none',
    });
  });
});
