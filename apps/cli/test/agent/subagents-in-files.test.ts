import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { directory, MODEL, open, withDirectory } from './open-files.js';

withDirectory();

describe('subagents', () => {
  const models = (listed: string) => `${MODEL}\nsubagents: { models: [${listed}] }`;

  it('take the models that the agent’s file lists, each with its window', async () => {
    const listed = 'anthropic:claude-sonnet-4-5, { id: anthropic:claude-haiku-4-5, context_window: 50000 }';
    const helper = '---\ndescription: Helps.\nmodel: anthropic:claude-haiku-4-5\n---\nHelp.';
    const files = { 'agent.yaml': models(listed), 'subagents/helper.md': helper };
    const { agent, warnings } = await open(files);
    expect(agent.capabilities).toContain('subagents');
    expect(warnings).toBe('');
    await expect(open({ 'agent.yaml': models('{ id: a:b, context_windw: 50000 }') })).rejects.toThrow(
      /agent\.yaml: subagents\.models\[0\].*context_windw/,
    );
  });

  it('name the place of a model that cannot be made', async () => {
    await expect(open({ 'agent.yaml': models('haiku') })).rejects.toThrow(
      `Invalid ${join(directory, 'agent.yaml')}: subagents.models[0]: "haiku" is not of the form PROVIDER:MODEL`,
    );
  });

  it.each([
    ['feature: { compaction: true }', 'feature: unknown key'],
    ['max_iteration: 3', 'max_iteration: unknown key; did you mean max_iterations?'],
    ['top_p: 0.9', 'top_p: unknown key'],
    ['model: openai:gpt-5', 'model: there is no model named "openai:gpt-5" (known: none)'],
    ['model: openai:gpt-5', 'that the operator lists: models of subagents'],
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
    'mcp_servers: {}',
  ])('take no key from the workspace that could give them more: %s', async (line) => {
    const { warnings } = await open({
      'agent.yaml': `${MODEL}\nsubagents: {}`,
      'subagents/helper.md': `---\ndescription: Helps.\n${line}\n---\nHelp.`,
    });
    expect(warnings).toContain(`subagents/helper.md: ${line.split(':')[0]}: unknown key`);
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
      await expect(open({ 'agent.yaml': `${MODEL}\n${key}` })).rejects.toThrow('unknown key');
      await expect(open({ 'agent.md': `---\n${MODEL}\n${key}\n---\nHi` })).rejects.toThrow('unknown key');
    },
  );
});
