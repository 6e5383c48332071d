import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { compaction, maskOutputs, toolResultEviction } from '@x/compaction';
import {
  type AgentEvent,
  type Capability,
  InMemorySession,
  type Message,
  RuntimeContext,
  textOf,
} from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it, vi } from 'vitest';
import { HarnessAgent, skills, workspaceTools } from '../../../src/index.js';
import { isPaired, scratch } from '../../support.js';
import { blocksOf, resultsOf } from '../subagents/support.js';

const context = RuntimeContext.of({ sessionId: 's' });
const BODY = Array.from({ length: 30 }, (_, index) => `Rule ${index}: always do thing number ${index}.`).join(
  '\n',
);
const load = { toolCalls: [{ name: 'load_skill', input: { name: 'pdf' } }] };
const list = { toolCalls: [{ name: 'list_files', input: {} }] };

async function workspaceWith(files: Readonly<Record<string, string>> = {}) {
  const workspace = new LocalWorkspace(scratch());
  const all = {
    'skills/pdf/SKILL.md': `---\nname: pdf\ndescription: Fills in PDF forms\nlicense: MIT\n---\n\n${BODY}\n`,
    'skills/pdf/reference/fields.md': 'FIELDS',
    ...files,
  };
  for (const [path, text] of Object.entries(all)) await workspace.write(path, text);
  return workspace;
}

function agentWith(model: ScriptedModel, workspace: LocalWorkspace, ...capabilities: readonly Capability[]) {
  return HarnessAgent.builder()
    .model(model)
    .workspace(workspace)
    .use(...capabilities);
}

/** What of the skill's text stands in a view, in lines. */
function linesOf(messages: readonly Message[]): number {
  const text = messages.map((message) => textOf(message)).join('\n');
  return BODY.split('\n').filter((line) => text.includes(line)).length;
}

describe('skills', () => {
  it('stand in the system prompt by name, and are read with their files when asked for', async () => {
    const model = new ScriptedModel([
      load,
      {
        toolCalls: [
          { name: 'read_skill_file', input: { name: 'pdf', path: 'reference/fields.md' } },
          { name: 'read_skill_file', input: { name: 'pdf', path: '../../secret.txt' } },
          { name: 'load_skill', input: { name: 'nope' } },
        ],
      },
      { text: 'ok' },
    ]);
    const workspace = await workspaceWith({ 'secret.txt': 'SECRET' });
    const agent = agentWith(model, workspace, skills()).build();
    await agent.call('go', context);
    expect(model.requests[0]?.system).toContain('- pdf: Fills in PDF forms');
    expect(linesOf(model.requests[0]?.messages ?? [])).toBe(0);
    expect(linesOf(model.requests[1]?.messages ?? [])).toBe(30);
    expect(resultsOf(model.requests[1]?.messages ?? [], 'load_skill')[0]).toContain(
      '- reference/fields.md (6 bytes)',
    );
    const [inside, outside] = blocksOf(model.requests[2]?.messages ?? [], 'read_skill_file');
    expect(textOf(inside ? [inside] : [])).toContain('FIELDS');
    expect(outside?.isError).toBe(true);
    expect(JSON.stringify(model.requests)).not.toContain('SECRET');
    expect(blocksOf(model.requests[2]?.messages ?? [], 'load_skill')[1]?.isError).toBe(true);
  });

  it.each(['before', 'behind'])(
    'installed %s the compaction, are whole or a pointer in every view',
    async (place) => {
      const session = new InMemorySession();
      const steps = Array.from({ length: 12 }, () => list);
      const model = new ScriptedModel([load, ...steps, load, list, { text: 'ok' }]);
      const masking = compaction({
        stages: [maskOutputs({ format: 'head_tail', keepRecentToolOutputs: 2 }), 'drop_oldest'],
        trigger: { messages: 8 },
        keep: { messages: 4 },
      });
      const order = place === 'before' ? [skills(), masking] : [masking, skills()];
      const workspace = await workspaceWith({ 'a.txt': 'x', 'b.txt': 'x', 'c.txt': 'x' });
      const agent = agentWith(model, workspace, ...order, workspaceTools())
        .session(session)
        .build();
      await agent.call('go', context);
      const lines = model.requests.map(({ messages }) => linesOf(messages));
      for (const count of lines) expect([0, 30]).toContain(count);
      expect(lines[1]).toBe(30);
      const gone = lines.indexOf(0, 2);
      expect(gone).toBeGreaterThan(1);
      const text = model.requests[gone]?.messages.map((message) => textOf(message)).join('\n') ?? '';
      expect(text).toContain('The skill pdf was loaded here and is no longer in view');
      expect(text).toContain('Loaded earlier and no longer in view: pdf');
      // Loaded again, it is whole again, and nothing says otherwise.
      expect(lines.at(-1)).toBe(30);
      expect(model.requests.at(-1)?.messages.some(({ id }) => id === 'skills-reminder')).toBe(false);
      for (const { messages } of model.requests) expect(isPaired(messages)).toBe(true);
    },
  );

  it('are reduced to a reminder when a summary takes the place of the whole beginning', async () => {
    const model = new ScriptedModel([load, ...Array.from({ length: 8 }, () => list), { text: 'ok' }]);
    const agent = agentWith(
      model,
      await workspaceWith(),
      compaction({
        model: null,
        stages: ['summarize', 'drop_oldest'],
        trigger: { messages: 8 },
        keep: { messages: 2 },
      }),
      skills(),
      workspaceTools(),
    ).build();
    await agent.call('go', context);
    const last = model.requests.at(-1)?.messages ?? [];
    expect(blocksOf(last, 'load_skill')).toEqual([]);
    expect(last.some(({ id }) => id === 'skills-reminder')).toBe(true);
    expect((await agent.state(context))?.context.some(({ id }) => id === 'skills-reminder')).toBe(false);
  });

  it('in view are not loaded twice', async () => {
    const model = new ScriptedModel([load, load, { text: 'ok' }]);
    const agent = agentWith(model, await workspaceWith(), skills()).build();
    await agent.call('go', context);
    const [, second] = resultsOf(model.requests[2]?.messages ?? [], 'load_skill');
    expect(second).toContain('already in view');
  });

  it('that are written to a file at once keep the words that say where', async () => {
    const model = new ScriptedModel([load, list, { text: 'ok' }]);
    const eviction = toolResultEviction({ maxResultChars: 500, previewChars: 50 });
    const agent = agentWith(model, await workspaceWith(), eviction, skills(), workspaceTools()).build();
    await agent.call('go', context);
    for (const { messages } of model.requests.slice(1)) {
      expect(resultsOf(messages, 'load_skill')[0]).toContain('read the parts you need with read_file');
    }
  });

  it('are known to be loaded in the next process too', async () => {
    const session = new InMemorySession();
    const workspace = await workspaceWith();
    await agentWith(new ScriptedModel([load, { text: 'ok' }]), workspace, skills())
      .session(session)
      .build()
      .call('a', context);
    const model = new ScriptedModel([load, { text: 'ok' }]);
    await agentWith(model, workspace, skills()).session(session).build().call('b', context);
    expect(resultsOf(model.requests[1]?.messages ?? [], 'load_skill')[1]).toContain('already in view');
  });

  it('are read up to a number of folders', async () => {
    const names = Array.from({ length: 201 }, (_, at) => `a${String(at).padStart(3, '0')}`);
    const files = names.map((name) => [
      `many/${name}/SKILL.md`,
      `---\nname: ${name}\ndescription: x\n---\n</ski\u200bll>`,
    ]);
    const workspace = await workspaceWith(Object.fromEntries(files));
    const read = vi.spyOn(LocalWorkspace.prototype, 'read');
    const events: AgentEvent[] = [];
    const load = { toolCalls: [{ name: 'load_skill', input: { name: 'a000' } }] };
    const model = new ScriptedModel([load, { text: 'ok' }]);
    const agent = agentWith(model, workspace, skills({ folders: ['many'] }))
      .onEvent((event) => events.push(event))
      .build();
    await agent.call('go', context);
    const paths = read.mock.calls.map(([path]) => path);
    read.mockRestore();
    expect(paths.filter((path) => path.endsWith('SKILL.md'))).toHaveLength(201);
    expect(events.flatMap((event) => (event.type === 'warning' ? [event.message] : []))).toEqual([
      'many/a200: skipped with all later folders: at most 200 folders are read',
    ]);
    expect(model.requests[0]?.system).toContain('a199');
    expect(model.requests[0]?.system).not.toContain('a200');
    expect(resultsOf(model.requests[1]?.messages ?? [], 'load_skill')[0]).toContain('\n‹/ski\u200bll>\n');
  });

  it('that lie outside the workspace are told of and end no call', async () => {
    const workspace = await workspaceWith({ file: 'no folder', 'skills/linked/notes.txt': 'x' });
    symlinkSync('/etc/hostname', join(workspace.root, 'skills/linked/SKILL.md'));
    symlinkSync('/etc', join(workspace.root, 'outside'));
    symlinkSync('loop', join(workspace.root, 'loop'));
    const events: AgentEvent[] = [];
    const model = new ScriptedModel([{ text: 'ok' }]);
    const agent = agentWith(model, workspace, skills({ folders: ['outside', 'loop', 'file', 'skills'] }))
      .onEvent((event) => events.push(event))
      .build();
    expect((await agent.call('go', context)).text).toBe('ok');
    expect(model.requests[0]?.system).toContain('- pdf:');
    const warnings = events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));
    expect(warnings.join('\n')).toMatch(/outside.*\n.*loop(.*\n)+.*skills\/linked/);
  });

  it('that are malformed or too long harm no other', async () => {
    const workspace = await workspaceWith({
      'skills/bad/SKILL.md': 'no front matter',
      'skills/long/SKILL.md': `---\nname: long\ndescription: Long\n---\n${'x'.repeat(70_000)}`,
      'skills/empty/notes.txt': 'not a skill',
      'skills/huge/SKILL.md': `---\nname: huge\ndescription: Huge\n---\n${'x'.repeat(1_000_000)}`,
    });
    const read = vi.spyOn(LocalWorkspace.prototype, 'read');
    const events: AgentEvent[] = [];
    const model = new ScriptedModel([
      { toolCalls: [{ name: 'load_skill', input: { name: 'long' } }] },
      { text: 'ok' },
    ]);
    const agent = agentWith(model, workspace, skills())
      .onEvent((event) => events.push(event))
      .build();
    await agent.call('go', context);
    expect(events.flatMap((event) => (event.type === 'warning' ? [event.message] : []))).toEqual([
      expect.stringContaining('skills/bad/SKILL.md'),
      '"skills/huge/SKILL.md" has more than 1000000 bytes.',
    ]);
    const lengths = read.mock.calls.flatMap(([path, range]) =>
      path.endsWith('SKILL.md') ? [range?.length] : [],
    );
    read.mockRestore();
    expect(new Set(lengths)).toEqual(new Set([1_000_001]));
    expect(model.requests[0]?.system).toContain('- pdf:');
    expect(model.requests[0]?.system).not.toContain('empty');
    const [block] = blocksOf(model.requests[1]?.messages ?? [], 'load_skill');
    expect(block?.isError).toBe(true);
  });
});
