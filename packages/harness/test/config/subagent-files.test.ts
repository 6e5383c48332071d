import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentEvent } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it, vi } from 'vitest';
import { loadSubagents } from '../../src/config/subagent-files.js';
import { subagents, workspaceTools } from '../../src/index.js';
import { context, parentWith, resultsOf } from '../capabilities/subagents/support.js';
import { scratch } from '../support.js';

const spawn = { toolCalls: [{ name: 'agent_spawn', input: { agent: 'reviewer', task: 'Review' } }] };

async function workspaceWith(files: Readonly<Record<string, string>>) {
  const workspace = new LocalWorkspace(scratch());
  for (const [path, text] of Object.entries(files)) await workspace.write(path, text);
  return workspace;
}

describe('subagents in files', () => {
  it('are defined by front matter, with the text behind it as the system prompt', async () => {
    const workspace = await workspaceWith({
      'subagents/reviewer.md': [
        '---',
        'description: Reviews changes',
        'tools: read_file, grep_files',
        'model: cheap',
        'max_iterations: 3',
        '---',
        '',
        'You review.',
        '',
      ].join('\n'),
    });
    const cheap = new ScriptedModel([{ text: 'Fine.' }]);
    const model = new ScriptedModel([spawn, { text: 'ok' }]);
    const agent = parentWith(model, workspaceTools(), subagents([], { models: { cheap } }))
      .workspace(workspace)
      .isolation('shared')
      .build();
    await agent.call('go', context);
    expect(model.requests[0]?.system).toContain('- reviewer: Reviews changes');
    expect(resultsOf(model.requests[1]?.messages ?? [], 'agent_spawn')[0]).toContain('Fine.');
    expect(cheap.requests[0]?.system).toBe('You review.');
    expect(cheap.requests[0]?.tools.map(({ name }) => name)).toEqual(['read_file', 'grep_files']);
    await agent.close();
  });

  it('take no name that a model could mistake for another', async () => {
    const text = '---\ndescription: x\n---\n';
    const workspace = await workspaceWith({
      'subagents/Explorer.md': text,
      'subagents/Writer.md': text,
      'subagents/writer.md': text,
    });
    const options = { taken: new Set(['explorer']), models: [] };
    const { subagents: found, problems } = await loadSubagents(workspace, 'subagents', options);
    expect(found.map(({ name }) => name)).toEqual(['Writer']);
    expect(problems.join('\n')).toMatch(/"explorer" is reserved by the program.*\n.*also named "Writer"/);
  });

  it('in a folder that leads out of the workspace are reported, and none is read', async () => {
    const workspace = await workspaceWith({});
    symlinkSync('/etc', join(workspace.root, 'subagents'));
    const { subagents: found, problems } = await loadSubagents(workspace, 'subagents', {
      taken: new Set(),
      models: [],
    });
    expect(found).toEqual([]);
    expect(problems).toEqual([expect.stringMatching(/^subagents: .*symbolic link/)]);
  });

  it('that are malformed are reported and harm no other', async () => {
    const workspace = await workspaceWith({
      'subagents/reviewer.md': '---\ndescription: Reviews\n---\nReview.',
      'subagents/no-description.md': 'Just text.',
      'subagents/misspelt.md': '---\ndescription: x\ndeney: [a]\n---\n',
      'subagents/two-prompts.md': '---\ndescription: x\nsystem_prompt: a\n---\nb',
      'subagents/torn.md': '---\ndescription: x\n',
      'subagents/code.md': '---\ndescription: x\nownTools: [a]\n---\n',
      'subagents/features.md': '---\ndescription: x\nfeatures: { permissions: false }\n---\n',
      'subagents/general-purpose.md': '---\ndescription: x\n---\n',
      'subagents/notes.txt': 'not a subagent',
    });
    const events: AgentEvent[] = [];
    const model = new ScriptedModel([{ text: 'ok' }]);
    const agent = parentWith(model, subagents())
      .workspace(workspace)
      .isolation('shared')
      .onEvent((event) => events.push(event))
      .build();
    await agent.call('go', context);
    const warnings = events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));
    expect(warnings).toHaveLength(7);
    expect(warnings.join('\n')).toContain('subagents/no-description.md');
    expect(warnings.join('\n')).toContain('deney: unknown key; did you mean deny?');
    expect(warnings.join('\n')).toContain('system_prompt: must be omitted, because the text below');
    expect(warnings.join('\n')).toContain('features: unknown key');
    expect(warnings.join('\n')).toContain('"general-purpose" is reserved');
    expect(model.requests[0]?.system).toContain('- reviewer: Reviews');
    await agent.close();
  });

  it('are read up to a number of files, and up to a size', async () => {
    const files = Array.from({ length: 201 }, (_, at) => `subagents/a${String(at).padStart(3, '0')}.md`);
    const workspace = await workspaceWith({
      ...Object.fromEntries(files.map((path) => [path, '---\ndescription: x\n---\n'])),
      'subagents/a000.md': `---\ndescription: x\n---\n${'x'.repeat(100_000)}`,
    });
    const read = vi.spyOn(workspace, 'read');
    const loaded = await loadSubagents(workspace, 'subagents', { taken: new Set(), models: [] });
    expect(loaded.subagents).toHaveLength(199);
    expect(loaded.problems).toEqual([
      expect.stringContaining('"subagents/a000.md" has more than 100000 bytes.'),
      expect.stringMatching(/^subagents\/a200\.md: skipped with all later files/),
    ]);
    expect(read).toHaveBeenCalledTimes(200);
  });

  it('name a model that is not listed, and have their parent’s, which is told', async () => {
    const workspace = await workspaceWith({
      'subagents/reviewer.md': [
        '---',
        'name: reviewer',
        'description: Reviews changes',
        'tools: [read_file]',
        'model: openai:gpt-4o-mini',
        'max_iterations: 1',
        'temperature: 0.3',
        'hidden: false',
        '---',
        'You review.',
      ].join('\n'),
    });
    const warnings: string[] = [];
    const read = { toolCalls: [{ name: 'read_file', input: { path: 'subagents/reviewer.md' } }] };
    const model = new ScriptedModel([spawn, read, { text: 'ok' }]);
    const agent = parentWith(model, workspaceTools(), subagents())
      .workspace(workspace)
      .isolation('shared')
      .onEvent((event) => event.type === 'warning' && warnings.push(event.message))
      .build();
    await agent.call('go', context);
    expect(warnings).toEqual([
      expect.stringMatching(
        /model: there is no model named "openai:gpt-4o-mini" \(known: none\).* models of subagents/,
      ),
    ]);
    // The parent's model works for it, with its prompt and tools, for one step.
    expect(model.requests[1]).toMatchObject({ system: 'You review.', temperature: 0.3 });
    expect(model.requests[1]?.tools.map(({ name }) => name)).toEqual(['read_file']);
    expect(model.requests).toHaveLength(3);
    await agent.close();
  });

  it('that are hidden from the model are neither offered nor spawned, and told of', async () => {
    const workspace = await workspaceWith({
      'subagents/reviewer.md': '---\ndescription: Reviews changes\nhidden: true\n---\nReview.',
    });
    const warnings: string[] = [];
    const model = new ScriptedModel([spawn, { text: 'ok' }]);
    const agent = parentWith(model, subagents())
      .workspace(workspace)
      .isolation('shared')
      .onEvent((event) => event.type === 'warning' && warnings.push(event.message))
      .build();
    await agent.call('go', context);
    expect(model.requests[0]?.system).not.toContain('reviewer');
    expect(resultsOf(model.requests[1]?.messages ?? [], 'agent_spawn')[0]).toContain(
      'There is no subagent "reviewer". Available: general-purpose.',
    );
    expect(warnings).toEqual(['subagents/reviewer.md: hidden: the model cannot spawn it']);
    await agent.close();
  });

  it('cannot take the name of one that the program hides', async () => {
    const workspace = await workspaceWith({
      'subagents/reviewer.md': '---\ndescription: From a file\n---\n',
    });
    const model = new ScriptedModel([spawn, { text: 'ok' }]);
    const hidden = { name: 'reviewer', description: 'From code', hidden: true };
    const agent = parentWith(model, subagents([hidden]))
      .workspace(workspace)
      .isolation('shared')
      .build();
    await agent.call('go', context);
    expect(model.requests[0]?.system).not.toContain('reviewer');
    expect(resultsOf(model.requests[1]?.messages ?? [], 'agent_spawn')[0]).toContain('There is no subagent');
    await agent.close();
  });

  it.each([
    'permissions: { mode: bypass }',
    'disallowed_tools: [execute]',
    'mcp_servers: { a: { command: evil } }',
    'env: { TOKEN: x }',
    'secrets: [TOKEN]',
    'features: { permissions: false }',
    'hooks: { before: evil }',
    'ownTools: [execute]',
    'tool: read_file',
    'readonly: true',
    'enabled: false',
    'network: false',
    'access: [docs]',
    'color: red',
    'maxTurns: 2',
    'mode: readonly',
    'steps: 40',
  ])('are refused that speak of rights which files have not: %s', async (line) => {
    const workspace = await workspaceWith({ 'subagents/a.md': `---\ndescription: x\n${line}\n---\nDo.` });
    const options = { taken: new Set<string>(), models: [] };
    const { subagents: loaded, problems } = await loadSubagents(workspace, 'subagents', options);
    expect(loaded).toEqual([]);
    expect(problems).toEqual([expect.stringContaining(`${line.split(':')[0]}: unknown key`)]);
  });

  it('give way to those that code declares, and are read anew for every call', async () => {
    const workspace = await workspaceWith({
      'subagents/reviewer.md': '---\ndescription: From a file\n---\n',
    });
    const model = new ScriptedModel([{ text: 'a' }, { text: 'b' }]);
    const declared = { name: 'reviewer', description: 'From code' };
    const agent = parentWith(model, subagents([declared]))
      .workspace(workspace)
      .isolation('shared')
      .build();
    await agent.call('a', context);
    await workspace.write('subagents/writer.md', '---\ndescription: Writes\n---\n');
    await agent.call('b', context);
    expect(model.requests[0]?.system).toContain('From code');
    expect(model.requests[0]?.system).not.toContain('From a file');
    expect(model.requests[1]?.system).toContain('- writer: Writes');
    await agent.close();
  });
});
