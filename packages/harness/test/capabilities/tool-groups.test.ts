import { AgentState, defineTool, RuntimeContext } from '@x/core';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent, toolGroups } from '../../src/index.js';
import { resultsIn } from '../loop/approvals/support.js';
import { collect, scratch } from '../support.js';

const context = RuntimeContext.of({ sessionId: 's' });
const tool = (name: string) =>
  defineTool({ name, description: name, input: z.object({}), execute: () => `${name} ran` });
const activate = (...names: string[]) => ({ name: 'tool_groups', input: { activate: names } });

function build(script: readonly ScriptEntry[], directory = scratch()) {
  const model = new ScriptedModel(script);
  const shared = tool('fetch');
  const agent = HarnessAgent.builder()
    .model(model)
    .workspace(directory)
    .tools(tool('always'), tool('mail_read'), tool('mail_send'))
    .use(
      toolGroups({
        web: { description: 'Searching the web', tools: [tool('search'), shared] },
        mail: { description: 'Reading and sending mail', tools: ['mail_*'] },
        files: { description: 'Fetching files', tools: [shared, tool('unpack')], active: true },
      }),
    )
    .build();
  const offered = () => model.requests.map(({ tools }) => tools.map(({ name }) => name).join(' '));
  return { agent, model, offered };
}

describe('toolGroups', () => {
  it('offers the tools of active groups alone, from the next step on', async () => {
    const { agent, offered } = build([
      { toolCalls: [activate('mail')] },
      { toolCalls: [{ name: 'tool_groups', input: { activate: ['web'], deactivate: ['mail', 'files'] } }] },
      { text: 'ok' },
    ]);
    await agent.call('Go', context);
    expect(offered()).toEqual([
      'always fetch unpack tool_groups',
      'always mail_read mail_send fetch unpack tool_groups',
      'always search fetch tool_groups',
    ]);
    expect((await agent.state(context))?.toolContext).toEqual({
      activatedGroups: ['web'],
      deactivatedGroups: ['files'],
    });
  });

  it('keeps what is active in the state, for the next process', async () => {
    const directory = scratch();
    const first = build([{ toolCalls: [activate('mail')] }, { text: 'ok' }], directory);
    await first.agent.call('Go', context);
    await first.agent.close();
    const second = build([{ text: 'ok' }], directory);
    await second.agent.call('Go on', context);
    expect(second.offered()).toEqual(['always mail_read mail_send fetch unpack tool_groups']);
    const state = await second.agent.state(context);
    expect(AgentState.fromJSON(JSON.parse(JSON.stringify(state))).toolContext).toEqual({
      activatedGroups: ['mail'],
    });
  });

  it('denies calls to a tool that is not active, and runs them behind the activation', async () => {
    const { agent, model } = build([
      {
        toolCalls: [
          { id: '1', name: 'mail_send', input: {} },
          { id: '2', ...activate('mail') },
          { id: '3', name: 'mail_send', input: {} },
        ],
      },
      { text: 'ok' },
    ]);
    await agent.call('Go', context);
    expect(resultsIn(model)).toEqual({
      1: 'error: mail_send is not active: activate the group mail with tool_groups first.',
      2: 'Active groups: mail, files.',
      3: 'mail_send ran',
    });
  });

  it('counts the tools that are offered, no others', async () => {
    const { agent } = build([
      { toolCalls: [activate('web', 'mail')] },
      { toolCalls: [activate()] },
      { text: 'ok' },
    ]);
    const events = await collect(agent.stream('Go', context));
    const [few = 0, many = 0, same] = events.flatMap((event) =>
      event.type === 'model.started' ? [event.context.tools] : [],
    );
    expect(many).toBeGreaterThan(few);
    expect(same).toBe(many);
  });

  it('refuses unknown groups and contradictions', async () => {
    const { agent, model } = build([
      { toolCalls: [{ id: '1', ...activate('nope') }] },
      { toolCalls: [{ id: '2', name: 'tool_groups', input: { activate: ['web'], deactivate: ['web'] } }] },
      { text: 'ok' },
    ]);
    await agent.call('Go', context);
    expect(resultsIn(model)[1]).toContain('activate[0]');
    expect(resultsIn(model)[2]).toContain('web cannot be activated and deactivated at once');
    expect(() => toolGroups({})).toThrow('has no groups');
    expect(() => toolGroups({ a: { description: 'x', tools: [{} as never] } })).toThrow('a.tools[0]');
  });
});
