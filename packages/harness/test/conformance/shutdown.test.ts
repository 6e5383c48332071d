import { defineTool, RuntimeContext, storageOf, textOf, toolResultsOf } from '@x/core';
import { LocalWorkspace, WorkspaceSession } from '@x/core/node';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent } from '../../src/index.js';
import { isPaired, scratch } from '../support.js';

const contextOf = (sessionId: string) => RuntimeContext.of({ userId: 'alice', sessionId });
const SESSIONS = ['a', 'b/c', '..'];

/** A process, and what tells that all its calls are in the middle of a tool. */
function start(directory: string, script: readonly ScriptEntry[]) {
  const working = new Set<string>();
  const ran: string[] = [];
  const work = defineTool({
    name: 'work',
    description: 'Works until it is stopped',
    input: z.object({ forever: z.boolean() }),
    execute: ({ forever }, { state, signal }) => {
      ran.push(state.sessionId);
      if (!forever) return 'worked';
      working.add(state.sessionId);
      return new Promise<string>((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason)),
      );
    },
  });
  const model = new ScriptedModel(script);
  const agent = HarnessAgent.builder()
    .model(model)
    .workspace(directory)
    .session(new WorkspaceSession(storageOf(new LocalWorkspace(directory))))
    .tools(work)
    .build();
  const busy = async (count: number) => {
    while (working.size < count) await new Promise((resolve) => setImmediate(resolve));
  };
  return { agent, model, ran, busy };
}

const lastOf = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
  messages.at(-1)?.role;
const working = (forever: boolean) => ({ toolCalls: [{ name: 'work', input: { forever } }] });

describe('an agent that closes', () => {
  it('leaves every session resumable: nothing that was said or done is lost or there twice', async () => {
    const directory = scratch();
    const first = start(directory, [
      { when: (request) => lastOf(request) === 'user', times: 3, reply: working(false) },
      { when: (request) => lastOf(request) === 'tool', times: 3, reply: working(true) },
    ]);
    const calls = SESSIONS.map((id) => first.agent.call(`Work on ${id}`, contextOf(id)));
    // Behind those that run: these have not begun, and are refused.
    const waiting = SESSIONS.map((id) => first.agent.call('And then', contextOf(id)));
    const refused = Promise.allSettled(waiting);
    await first.busy(3);
    const [one, other] = [first.agent.close({ drainMs: 0 }), first.agent.close()];
    expect(one).toBe(other);
    await one;
    expect((await Promise.all(calls)).map(({ stopReason }) => stopReason)).toEqual(
      SESSIONS.map(() => 'shutdown'),
    );
    for (const { status, ...rest } of await refused) {
      expect(status).toBe('rejected');
      expect(rest).toMatchObject({ reason: { code: 'agent_closed' } });
    }
    await expect(first.agent.call('Hello?', contextOf('new'))).rejects.toMatchObject({
      code: 'agent_closed',
    });

    const next = start(directory, [{ when: () => true, times: 3, reply: { text: 'finished' } }]);
    for (const id of SESSIONS) {
      expect((await next.agent.resume(contextOf(id))).text).toBe('finished');
      const context = (await next.agent.state(contextOf(id)))?.context ?? [];
      expect(isPaired(context)).toBe(true);
      expect(context.filter(({ role }) => role === 'user').map(textOf)).toEqual([`Work on ${id}`]);
      expect(context.flatMap(toolResultsOf).map(({ isError }) => isError)).toEqual([false, true]);
    }
    expect(next.ran).toEqual([]);
    expect(await next.agent.state(contextOf('new'))).toBeUndefined();
    next.model.assertComplete();
    await next.agent.close();
  });

  it('takes what is said next for what it is: a new message behind what was cut short', async () => {
    const directory = scratch();
    const first = start(directory, [working(true)]);
    const call = first.agent.call('Work', contextOf('s'));
    await first.busy(1);
    await first.agent.close({ drainMs: 0 });
    await call;
    const next = start(directory, [{ text: 'I see both' }]);
    expect((await next.agent.call('Work', contextOf('s'))).text).toBe('I see both');
    const messages = next.model.requests[0]?.messages ?? [];
    // The same words again are said again: nothing is taken for a repetition and dropped.
    expect(messages.filter(({ role }) => role === 'user').map(textOf)).toEqual(['Work', 'Work']);
    expect(isPaired(messages)).toBe(true);
  });
});
