import { type AgentEvent, type Capability, defineTool, RuntimeContext, type Tool } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  HarnessAgent,
  HarnessConfigError,
  permissions,
  planMode,
  shell,
  subagents,
  toolGroups,
} from '../../src/index.js';
import { scratch } from '../support.js';

const tool = (name: string): Tool =>
  defineTool({ name, description: name, input: z.object({}), execute: () => 'done' });

/** Brings its tools when it is told to, as a server does that is reached late. */
function late(...names: readonly string[]) {
  let tools: readonly Tool[] = [];
  const capability: Capability = {
    name: 'late',
    get tools() {
      return tools;
    },
  };
  const arrive = () => {
    tools = names.map(tool);
  };
  return { capability, arrive };
}

function builder(...capabilities: readonly Capability[]) {
  const warnings: string[] = [];
  const collect = (event: AgentEvent) => {
    if (event.type === 'warning') warnings.push(`${event.source}: ${event.message}`);
  };
  const built = HarnessAgent.builder()
    .model(new ScriptedModel([{ text: 'ok' }, { text: 'ok' }]))
    .workspace(scratch())
    .tools(tool('read_page'), tool('send_mail'))
    .use(...capabilities)
    .onEvent(collect);
  return { built, warnings };
}

const context = RuntimeContext.of({ sessionId: 's' });

describe('a configuration that names a tool wrongly', () => {
  it.each<[string, () => Capability, string]>([
    ['permissions', () => permissions({ deny: ['send_mial(x)'] }), 'permissions.deny[0]'],
    ['permissions', () => permissions({ allow: ['*', { tool: 'Send_Mail' }] }), 'permissions.allow[1]'],
    ['permissions', () => permissions({ editTools: ['sendmail'] }), 'permissions.editTools[0]'],
    ['plan mode', () => planMode({ allow: ['send_mails'] }), 'plan_mode.allow[0]'],
    [
      'tool groups',
      () => toolGroups({ mail: { description: 'Mail', tools: ['read_page', 'sent_mail'] } }),
      'tool_groups.mail.tools[1]',
    ],
  ])('is refused when the agent is built: %s', (_, capability, path) => {
    const { built } = builder(capability());
    let error: unknown;
    try {
      built.build();
    } catch (thrown) {
      error = thrown;
    }
    expect(HarnessConfigError.isInstance(error) && error.issues).toEqual([
      { path, message: expect.stringMatching(/^no tool is named ".+"; did you mean send_mail\?$/) },
    ]);
  });

  it('is warned of, once, in the first call, when the name may be that of a part that was left out', async () => {
    const { built, warnings } = builder(
      permissions({ deny: ['execute(rm *)', 'mcp__*'] }),
      toolGroups({ more: { description: 'More', tools: ['unpack'] } }),
    );
    const agent = built.build();
    expect(warnings).toEqual([]);
    await agent.call('Go', context);
    await agent.call('Go on', context);
    expect(warnings).toEqual([
      expect.stringMatching(/^permissions: deny\[0\]: no tool is named "execute"; none is similar\./),
      expect.stringMatching(/^tool_groups: more\.tools\[0\]: no tool is named "unpack"; none is similar\./),
    ]);
    await agent.close();
  });

  it('is warned of, with what is near, when tools may come that are not known yet', async () => {
    const servers = late('mcp__wiki__read');
    const { built, warnings } = builder(
      servers.capability,
      permissions({ deny: ['send_mial', 'mcp__wiki__read'], ask: ['mcp__wkii__*'] }),
    );
    const agent = built.build();
    servers.arrive();
    await agent.call('Go', context);
    expect(warnings).toEqual([
      expect.stringMatching(
        /^permissions: deny\[0\]: no tool is named "send_mial"; did you mean send_mail\?/,
      ),
      expect.stringMatching(
        /^permissions: ask\[0\]: .+ matches "mcp__wkii__\*"; did you mean mcp__wiki__read\?/,
      ),
    ]);
    await agent.close();
  });

  it('is only warned of where subagents may have that tool', async () => {
    const definition = {
      name: 'writer',
      description: 'Writes',
      capabilities: [{ name: 'mail', tools: [tool('send_mails')] }],
    };
    const { built, warnings } = builder(subagents([definition]), permissions({ deny: ['send_mails'] }));
    const agent = built.build();
    await agent.call('Go', context);
    expect(warnings).toEqual([expect.stringContaining('did you mean send_mail?')]);
    await agent.close();
  });

  it('is none when a tool fits: as it is written, by a pattern, in any case where that forbids', async () => {
    const { built, warnings } = builder(
      shell(),
      permissions({ allow: ['execute(ls)'], deny: ['READ_page'], ask: ['send_*', 'rea?_page'] }),
      toolGroups({ web: { description: 'Web', tools: ['read_*', 'send_mail'] } }),
    );
    const agent = built.build();
    await agent.call('Go', context);
    expect(warnings).toEqual([]);
    await agent.close();
  });
});
