import { defineTool, InMemorySession, RuntimeContext, type Tool, textOf, toolResultsOf } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { PermissionsConfig } from '../../../src/capabilities/permissions/permissions.js';
import { HarnessAgent, HarnessConfigError, permissions, planMode } from '../../../src/index.js';
import { mcp } from '../../../src/mcp/index.js';
import type { McpTool } from '../../../src/mcp/mcp-client.js';
import { scratch } from '../../support.js';

type Verdict = 'runs' | 'asks' | 'denied';

const MODES = ['default', 'accept_edits', 'explore', 'bypass', 'dont_ask'] as const;
const context = RuntimeContext.of({ sessionId: 's' });

/** What a server says of its tools, and what that makes of a call in each mode without a rule. */
const SERVER: Readonly<Record<string, { hints: McpTool['annotations']; verdicts: readonly Verdict[] }>> = {
  silent: { hints: undefined, verdicts: ['asks', 'asks', 'denied', 'runs', 'denied'] },
  destroys: { hints: { destructiveHint: true }, verdicts: ['asks', 'asks', 'denied', 'runs', 'denied'] },
  adds: { hints: { destructiveHint: false }, verdicts: ['asks', 'asks', 'denied', 'runs', 'denied'] },
  reads: { hints: { readOnlyHint: true }, verdicts: ['runs', 'runs', 'runs', 'runs', 'runs'] },
  // As the protocol has it: what only reads destroys nothing.
  both: {
    hints: { readOnlyHint: true, destructiveHint: true },
    verdicts: ['runs', 'runs', 'runs', 'runs', 'runs'],
  },
};

/** The same, as a definition says it. */
const OWN: Readonly<Record<string, { flags: Partial<Tool>; verdicts: readonly Verdict[] }>> = {
  change: { flags: {}, verdicts: ['asks', 'asks', 'denied', 'runs', 'denied'] },
  destroy: { flags: { destructive: true }, verdicts: ['asks', 'asks', 'denied', 'runs', 'denied'] },
  read: { flags: { readOnly: true }, verdicts: ['runs', 'runs', 'runs', 'runs', 'runs'] },
  note: { flags: { sessionOnly: true }, verdicts: ['runs', 'runs', 'runs', 'runs', 'runs'] },
  // A note that outlives the session is none of a mode that keeps nothing.
  remember: {
    flags: { sessionOnly: true, persists: true },
    verdicts: ['runs', 'runs', 'denied', 'runs', 'denied'],
  },
  // What changes the session's notes for good is no harmless note.
  forget: {
    flags: { sessionOnly: true, destructive: true },
    verdicts: ['asks', 'asks', 'denied', 'runs', 'denied'],
  },
  // An edit by name, whatever it says of itself.
  write_file: { flags: { destructive: true }, verdicts: ['asks', 'runs', 'denied', 'runs', 'denied'] },
};

function ownTools(done: string[]): readonly Tool[] {
  return Object.entries(OWN).map(([name, { flags }]) => ({
    ...defineTool({ name, description: name, input: z.looseObject({}), execute: () => void done.push(name) }),
    ...flags,
  }));
}

function servers(done: string[], trusted = true) {
  const tools = Object.entries(SERVER).map(([name, { hints }]) => ({
    name,
    inputSchema: { type: 'object' },
    ...(hints === undefined ? {} : { annotations: hints }),
  }));
  const client = {
    listTools: async () => ({ tools }),
    callTool: async ({ name }: { readonly name: string }) => {
      done.push(`mcp__server__${name}`);
      return { content: [] };
    },
  };
  return mcp({ servers: { server: { client, trusted } } });
}

async function verdictOn(
  name: string,
  config: PermissionsConfig,
  options: { readonly trusts?: boolean; readonly plans?: boolean } = {},
): Promise<{ readonly verdict: Verdict; readonly why: string }> {
  const done: string[] = [];
  const model = new ScriptedModel([{ toolCalls: [{ name, input: { path: 'notes.txt' } }] }, { text: 'ok' }]);
  const agent = HarnessAgent.builder()
    .model(model)
    .workspace(scratch())
    .session(new InMemorySession())
    .tools(...ownTools(done))
    .use(permissions(config), planMode(), await servers(done, options.trusts))
    .build();
  if (options.plans) {
    await agent.updateState(context, (state) => {
      state.planModeContext = { ...state.planModeContext, active: true };
    });
  }
  const reply = await agent.call('Go', context);
  await agent.close();
  if (done.length > 0) return { verdict: 'runs', why: '' };
  const [pending] = reply.pendingCalls;
  if (pending) return { verdict: 'asks', why: pending.reason ?? '' };
  return { verdict: 'denied', why: textOf((model.requests[1]?.messages ?? []).flatMap(toolResultsOf)) };
}

const TABLE = [
  ...Object.entries(OWN).map(([name, { verdicts }]) => ({ name, verdicts })),
  ...Object.entries(SERVER).map(([name, { verdicts }]) => ({ name: `mcp__server__${name}`, verdicts })),
];

describe('what a tool says of itself', () => {
  it.each(TABLE)(
    'decides where no rule does: $name in default, accept_edits, explore, bypass, dont_ask',
    async (row) => {
      const found: Verdict[] = [];
      for (const mode of MODES) found.push((await verdictOn(row.name, { mode })).verdict);
      expect(found).toEqual(row.verdicts);
    },
  );

  it.each(['destroy', 'mcp__server__destroys'])('counts less than rules: %s', async (name) => {
    const verdicts = async (config: PermissionsConfig) => {
      const found: Verdict[] = [];
      for (const mode of MODES) found.push((await verdictOn(name, { ...config, mode })).verdict);
      return found;
    };
    expect(await verdicts({ allow: [name] })).toEqual(['runs', 'runs', 'denied', 'runs', 'runs']);
    expect(await verdicts({ ask: [name] })).toEqual(['asks', 'asks', 'denied', 'asks', 'denied']);
    expect(await verdicts({ deny: [name] })).toEqual(['denied', 'denied', 'denied', 'denied', 'denied']);
  });

  it('stands in what the human is asked', async () => {
    for (const name of ['destroy', 'forget', 'mcp__server__destroys']) {
      expect((await verdictOn(name, {})).why).toBe(`No rule allows ${name}, which may destroy something.`);
    }
    for (const name of ['change', 'mcp__server__silent', 'mcp__server__adds']) {
      expect((await verdictOn(name, {})).why).toBe(`No rule allows ${name}.`);
    }
  });

  it('counts from a server that is not trusted only where it makes rules stricter', async () => {
    const risk = ', which may destroy something';
    for (const [name, more] of Object.entries({ reads: '', both: risk, destroys: risk })) {
      const found = await verdictOn(`mcp__server__${name}`, {}, { trusts: false });
      expect(found).toEqual({ verdict: 'asks', why: `No rule allows mcp__server__${name}${more}.` });
      for (const mode of ['explore', 'dont_ask'] as const) {
        expect((await verdictOn(`mcp__server__${name}`, { mode }, { trusts: false })).verdict).toBe('denied');
      }
    }
  });

  it('decides while planning, whatever the mode allows', async () => {
    const found: Record<string, Verdict> = {};
    for (const { name } of TABLE) {
      found[name] = (await verdictOn(name, { mode: 'bypass' }, { plans: true })).verdict;
    }
    const running = Object.keys(found).filter((name) => found[name] === 'runs');
    expect(running).toEqual(['read', 'note', 'mcp__server__reads', 'mcp__server__both']);
  });

  it('must not contradict itself: a tool that only reads and destroys is refused when the agent is built', () => {
    const tool = defineTool({
      name: 'odd',
      description: 'Odd',
      readOnly: true,
      destructive: true,
      input: z.object({}),
      execute: () => 'done',
    });
    const builder = HarnessAgent.builder().model(new ScriptedModel([])).workspace(scratch()).tools(tool);
    expect(() => builder.build()).toThrow(HarnessConfigError);
    expect(() => builder.build()).toThrow('tools: "odd" is both readOnly and destructive');
  });
});
