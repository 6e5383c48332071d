import { type AgentState, defineTool, RuntimeContext } from '@x/core';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { PermissionsConfig } from '../../../src/capabilities/permissions/permissions.js';
import { formatRule, HarnessAgent, permissions, workspaceTools } from '../../../src/index.js';
import { parseRule } from '../../../src/lib/permission-rule.js';
import { resultsIn } from '../../loop/approvals/support.js';
import { collect, decided, scratch } from '../../support.js';

const context = RuntimeContext.of({ sessionId: 's' });
const write = (path: string) => ({
  toolCalls: [{ id: path, name: 'write_file', input: { path, content: 'x' } }],
});

function build(config: PermissionsConfig, script: readonly ScriptEntry[], directory = scratch()) {
  const model = new ScriptedModel(script);
  const agent = HarnessAgent.builder()
    .model(model)
    .workspace(directory)
    .use(permissions(config), workspaceTools())
    .build();
  return { agent, model };
}

describe('permissions', () => {
  it('refuses rules and keys that it does not know, each by its path', () => {
    const refused = (config: unknown) => () => permissions(config as PermissionsConfig);
    expect(refused({ allow: ['read_file', 'execute('] })).toThrow('allow[1]');
    expect(refused({ deny: ['execute()'] })).toThrow('leave out the parentheses');
    expect(refused({ ask: ['two words'] })).toThrow('write tool or tool(pattern)');
    expect(refused({ ask: [{ tool: 'x', input: {} }] })).toThrow('ask[0].input');
    expect(refused({ mode: 'yolo' })).toThrow('mode');
    expect(refused({ alow: [] })).toThrow('alow');
    expect(refused({ deny: ['read( secrets/** )'] })).toThrow(
      'deny[0]: read( secrets/** ) has a pattern that begins or ends with a blank',
    );
    expect(refused({ deny: [{ tool: 'write', match: 'secrets/** ' }] })).toThrow('remove the blank');
    expect(refused({ ask: ['write(secrets/{a,b}.txt)'] })).toThrow('write a rule for each name');
    expect(refused({ deny: ['execute({rm,dd} *)'] })).toThrow('write a rule for each name');
    expect(refused({ deny: ['Read(~/secrets/**)'] })).toThrow('not the home directory');
    expect(refused({ allow: ['write(~/src/**)'] })).toThrow('not the home directory');
    const inHome = { tool: 'read_file', input: { path: '~/secrets/**' } };
    expect(refused({ deny: [inHome] })).toThrow('not the home directory');
  });

  it('takes what looks like an unsupported pattern if it is escaped, or part of an allowed command', () => {
    const deny = ['read(\\~/x)', 'read(\\{a,b}.txt)', 'read(x\\ )', 'read(app/[id]/{x}.tsx)'];
    const allow = ["execute(jq '{a,b}' x.json)", 'execute(~/bin/deploy)'];
    expect(() => permissions({ deny, allow })).not.toThrow();
  });

  it('writes rules as it reads them', () => {
    for (const text of [
      '*',
      'mcp__wiki__*',
      'execute(npm test *)',
      'execute(a (b)\nc))',
      'write_file(src/**)',
    ]) {
      expect(formatRule(parseRule(text, '', ''))).toBe(text);
    }
    expect(formatRule({ tool: 'mail', input: { to: '*@acme.com' } })).toBe('mail{to: *@acme.com}');
  });

  it('goes by the mode and rules of the session too, in every process', async () => {
    const directory = scratch();
    const { agent } = build({ mode: 'explore', deny: ['write_file(b)'] }, [], directory);
    await agent.updateState(context, (state: AgentState) => {
      state.permissionContext = {
        mode: 'bypass',
        allow: [],
        deny: [{ tool: 'write_file', match: 'c' }],
        ask: [],
      };
    });
    await agent.close();
    const next = build(
      { mode: 'explore', deny: ['write_file(b)'] },
      [write('a'), write('b'), write('c'), { text: 'ok' }],
      directory,
    );
    await next.agent.call('Go', context);
    expect(resultsIn(next.model)).toEqual({
      a: 'Created a (1 line, 1 bytes).',
      b: 'error: Denied by the rule write_file(b). Do not try the same in another form.',
      c: 'error: Denied by the rule write_file(c). Do not try the same in another form.',
    });
  });

  it.each(['.git/config', '.git/hooks/pre-commit', 'vendor/library/.git/config', '.git', 'HEAD', 'sub/HEAD'])(
    'has %s changed with approval alone: Git starts what it names',
    async (path) => {
      const { agent } = build({ mode: 'bypass', allow: ['*'] }, [write('src/.github/git.ts'), write(path)]);
      const reply = await agent.call('Go', context);
      expect(reply.pendingCalls).toMatchObject([
        { id: path, reason: expect.stringContaining('requires approval') },
      ]);
      expect(reply.pendingCalls[0]).not.toHaveProperty('suggestion');
      await expect(
        agent.resume(context, {
          decisions: await decided(agent, context, { [path]: { type: 'approve', always: true } }),
        }),
      ).rejects.toThrow('only be approved one at a time');
    },
  );

  it('holds its denials against approvals, and for edited inputs', async () => {
    const directory = scratch();
    await build({}, [write('a')], directory).agent.call('Go', context);
    const edit = { a: { type: 'edit', input: { path: '.env', content: 'x' } } } as const;
    const { agent, model } = build({ deny: ['*_file(**/.env)'] }, [{ text: 'ok' }], directory);
    await agent.resume(context, { decisions: await decided(agent, context, edit) });
    expect(resultsIn(model).a).toBe(
      'error: Denied by the rule *_file(**/.env). Do not try the same in another form.',
    );
  });

  it('is denied by a capability that fails to judge', async () => {
    const model = new ScriptedModel([{ toolCalls: [{ id: '1', name: 'act', input: {} }] }, { text: 'ok' }]);
    const ran: string[] = [];
    const act = defineTool({
      name: 'act',
      description: 'Acts',
      input: z.object({}),
      execute: () => {
        ran.push('act');
        return 'done';
      },
    });
    const agent = HarnessAgent.builder()
      .model(model)
      .workspace(scratch())
      .tools(act)
      .use({
        name: 'policy',
        authorize: () => Promise.reject(new Error('The policy server is down.')),
      })
      .build();
    const events = await collect(agent.stream('Go', context));
    expect(ran).toEqual([]);
    expect(resultsIn(model)[1]).toContain('the permission check failed');
    // The model's words reach clients; what went wrong is for operators.
    expect(resultsIn(model)[1]).not.toContain('policy server');
    expect(events.find(({ type }) => type === 'warning')).toMatchObject({
      source: 'policy',
      message: expect.stringContaining('The policy server is down.'),
    });
  });

  it('asks once for all capabilities that ask, and suggests no rule that would silence one alone', async () => {
    const model = new ScriptedModel([write('a')]);
    const agent = HarnessAgent.builder()
      .model(model)
      .workspace(scratch())
      .use(
        permissions(),
        { name: 'audit', authorize: () => ({ type: 'ask', reason: 'Audit.' }) },
        workspaceTools(),
      )
      .build();
    const reply = await agent.call('Go', context);
    expect(reply.pendingCalls).toMatchObject([{ reason: 'No rule allows write_file. Audit.' }]);
    expect(reply.pendingCalls[0]).not.toHaveProperty('suggestion');
  });
});
