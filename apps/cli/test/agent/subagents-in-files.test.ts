import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { directory, MODEL, open, withDirectory } from './open-files.js';

withDirectory();

describe('subagents', () => {
  const definition = (more: string) =>
    `subagents: { definitions: [{ name: scout, description: Looks things up., ${more} }] }`;

  it('take the models that the agent’s file names', async () => {
    const file = `${MODEL}\n${definition('model: anthropic:claude-haiku-4-5')}`;
    const { agent, warnings } = await open({ 'agent.yaml': file });
    expect(agent.capabilities).toContain('subagents');
    expect(warnings).toBe('');
  });

  it('take a model with its window, as an agent does', async () => {
    const model = (more: string) =>
      `${MODEL}\n${definition(`model: { id: anthropic:claude-haiku-4-5, ${more} }`)}`;
    const { agent, warnings } = await open({ 'agent.yaml': model('context_window: 50000') });
    expect(agent.capabilities).toContain('subagents');
    expect(warnings).toBe('');
    await expect(open({ 'agent.yaml': model('context_windw: 50000') })).rejects.toThrow(
      /agent\.yaml: subagents\.definitions\[0\]\.model.*context_windw/,
    );
  });

  it('name the place of a model that cannot be made', async () => {
    const file = `${MODEL}\n${definition('model: haiku')}`;
    await expect(open({ 'agent.yaml': file })).rejects.toThrow(
      `Invalid ${join(directory, 'agent.yaml')}: subagents.definitions[0].model: "haiku" is not PROVIDER:MODEL`,
    );
  });

  it.each([
    ['feature: { compaction: true }', 'feature: unknown key'],
    ['max_iteration: 3', 'max_iteration: unknown key; did you mean max_iterations?'],
    ['top_p: 0.9', 'top_p: unknown key, which does nothing'],
    ['model: openai:gpt-5', 'model: there is no model named "openai:gpt-5" (known: none)'],
    ['model: openai:gpt-5', 'that the operator lists: in definitions of the agent’s file'],
    ['"a\\e[2J": 1', 'a\\u{1b}[2J: unknown key'],
  ])('in files are read when the agent is opened, and their mistakes told: %s', async (line, problem) => {
    const files = (agent: string) => ({
      'agent.yaml': `${MODEL}\n${agent}`,
      'subagents/helper.md': `---\ndescription: Helps.\n${line}\n---\nHelp.`,
      'team/other.md': 'Nothing says what for.',
    });
    const { warnings } = await open(files('features: { subagents: true }'));
    expect(warnings).toMatch(/^subagents: subagents\/helper\.md: /);
    expect(warnings).toContain(problem);
    expect(warnings.split('\n')).toHaveLength(1);
    expect((await open(files('subagents: { folder: team }'))).warnings).toMatch(
      /^subagents: team\/other\.md: .*description/,
    );
    expect((await open(files('subagents: { folder: "" }'))).warnings).toBe('');
    expect((await open(files('capabilities: []'))).warnings).toBe('');
  });

  it.each([
    'features: { compaction: { keep: { messages: 4 } }, todo_list: false }',
    'fallback: [{ id: anthropic:claude-haiku-4-5, context_window: 50000 }]',
    'permissions: { mode: bypass }',
    'checkpoint: step',
    'limits: { tool_ms: 10 }',
  ])(
    'take the keys of the agent where the operator writes them, and not from the workspace: %s',
    async (line) => {
      const agent = `${MODEL}\ncapabilities: [todo_list]\n`;
      const key = line.split(':')[0];
      const { agent: made, warnings } = await open({ 'agent.yaml': `${agent}${definition(line)}` });
      expect(warnings).toBe('');
      // What a subagent may do without asking says nothing of its agent.
      expect(made.capabilities).toContain('permissions');
      expect(made.capabilities).not.toContain('compaction');
      const files = { 'subagents/helper.md': `---\ndescription: Helps.\n${line}\n---\nHelp.` };
      const told = await open({ 'agent.yaml': `${agent}subagents: {}`, ...files });
      expect(told.warnings).toContain(
        `subagents/helper.md: ${key}: unknown key here; a file of the workspace only narrows: write it in definitions`,
      );
    },
  );

  it.each([
    ['hooks: { after_call: "true" }', 'those of its parent run for a subagent too'],
    ['mcp_servers: {}', 'a subagent has those of its parent, with their connections'],
  ])('say why no subagent takes a key of the agent, and where it goes: %s', async (line, reason) => {
    const key = line.split(':')[0];
    await expect(open({ 'agent.yaml': `${MODEL}\n${definition(line)}` })).rejects.toThrow(
      `agent.yaml: subagents.definitions[0].${key}: unknown key here; ${reason}`,
    );
    const { warnings } = await open({
      'agent.yaml': `${MODEL}\nsubagents: {}`,
      'subagents/helper.md': `---\ndescription: Helps.\n${line}\n---\nHelp.`,
    });
    expect(warnings).toContain(`subagents/helper.md: ${key}: unknown key here; ${reason}`);
  });

  it.each(['tools: read_file, grep_*', 'tools: [read_file]', 'deny: [execute]'])(
    'have keys that an agent of its own file takes: %s',
    async (line) => {
      const more = `${MODEL}\n${line}\ncapabilities: [workspace_tools, shell]`;
      for (const files of [{ 'agent.md': `---\n${more}\n---\nHi` }, { 'agent.yaml': more }]) {
        const { agent, warnings } = await open(files);
        expect(agent.capabilities).toEqual(expect.arrayContaining(['narrowing', 'permissions']));
        expect(warnings).toBe('');
      }
      await expect(
        open({ 'agent.yaml': more.replace('read_file', 'reed_file').replace('[execute]', '[exicute]') }),
      ).rejects.toThrow(/agent\.yaml: (?:tools|deny)\[0\]: no tool is named .*; did you mean/);
    },
  );

  it.each(['deney: [execute]', 'permission: { mode: bypass }'])(
    'refuse keys of rights and misspelt ones: %s',
    async (key) => {
      await expect(open({ 'agent.yaml': `${MODEL}\n${definition(key)}` })).rejects.toThrow('unknown key');
      await expect(open({ 'agent.md': `---\n${MODEL}\n${key}\n---\nHi` })).rejects.toThrow('unknown key');
    },
  );
});
