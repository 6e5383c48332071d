import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { AgentState, type ToolScope } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { type PermissionsConfig, permissions, workspaceTools } from '@x/harness';
import { describe, expect, it } from 'vitest';
import { agentFromAura } from '../../src/agent/aura-file.js';
import { AGENT, directory, MODEL, open, withDirectory } from './open-files.js';

withDirectory();

const auraFile = (names: string) => `threshold: 80
max_tokens: 0
keep_last_messages: 10
trim_threshold: 50
trim_max_tokens: 0
${names}
chunks: 1
tool_result_max_length: 200
truncation_retries: [150, 100, 50, 0]
prune: { mode: iteration, protect_percent: 30, arg_threshold: 200 }
`;

describe('files of Aura', () => {
  it.each(['prompt: ""', 'prompt: ""\nagent: ""'])('load with nobody named: %s', async (names) => {
    const { agent, warnings } = await open({ 'agent.yaml': AGENT, 'compaction.yaml': auraFile(names) });
    expect(agent.capabilities).toContain('compaction');
    expect(warnings).toBe('');
  });

  it('load where their summarizer is not there, and say where it would be', async () => {
    const names = 'prompt: ""\nagent: "FastCompactor"';
    const { agent, warnings } = await open({ 'agent.yaml': AGENT, 'compaction.yaml': auraFile(names) });
    expect(agent.capabilities).toContain('compaction');
    expect(warnings).toContain('there is no model named "FastCompactor" (known: none)');
    expect(warnings).toContain(`${join(directory, 'prompts')}/FastCompactor.md`);
    expect(warnings).toContain('the default summarizer takes over');
  });

  it.each(['agent: FastCompactor', 'prompt: FastCompactor'])(
    'name a prompt by its front matter, and warn of a second one: %s',
    async (names) => {
      const prompt = (text: string) => `---\nname: FastCompactor\n${MODEL}\n---\n${text}`;
      const files = {
        'agent.yaml': AGENT,
        'compaction.yaml': auraFile(names),
        'prompts/a.md': prompt('Brief.'),
      };
      expect((await open(files)).warnings).toBe('');
      const { warnings } = await open({ ...files, 'prompts/b.md': prompt('Long.') });
      expect(warnings).toBe('prompts/b.md: name: prompts/a.md has this name too, and counts');
    },
  );

  it.each(['agent: Compaction', 'prompt: Compaction'])(
    'load with the default that Aura ships, which no file holds: %s',
    async (names) => {
      const { agent, warnings } = await open({ 'agent.yaml': AGENT, 'compaction.yaml': auraFile(names) });
      expect(agent.capabilities).toContain('compaction');
      expect(warnings).toBe('');
    },
  );

  it.each(['compaction.yaml', 'features/compaction.yaml'])(
    'switch compaction on where an agent names none: %s',
    async (name) => {
      const named = 'model: anthropic:claude-sonnet-4-5\n';
      const beside = { [name]: auraFile('agent: Compaction') };
      const { agent, warnings } = await open({ 'agent.yaml': named, ...beside });
      expect(agent.capabilities).toContain('compaction');
      expect(warnings).toBe('');
      const off = await open({ 'off.yaml': `${named}features: { compaction: false }`, ...beside });
      expect(off.agent.capabilities).not.toContain('compaction');
    },
  );

  it('stand beside the folder of agents, as Aura lays them out', async () => {
    const file = '---\nmodel: anthropic:claude-sonnet-4-5\nsystem: Agentic\n---\nYou review.';
    const beside = {
      'features/compaction.yaml': auraFile('agent: Compaction'),
      'prompts/system/agentic.md': '---\nname: Agentic\n---\nYou act.',
    };
    const { agent, warnings } = await open({ 'agents/openai/small.md': file, ...beside });
    expect(agent.capabilities).toContain('compaction');
    expect(warnings).toBe('');
    const elsewhere = await open({ 'other/small.md': file, ...beside });
    expect(elsewhere.agent.capabilities).not.toContain('compaction');
  });

  it('hold the summarizer among the agents, and its prompt among the prompts, as Aura ships them', async () => {
    const file = '---\nmodel: anthropic:claude-sonnet-4-5\n---\nYou review.';
    const agent = (model: string) =>
      `---\nname: Compaction\nmodel: ${model}\ntools: { disabled: ["*"] }\nhide: true\nagentsmd: none\nsystem: Compaction\n---\n`;
    const files = {
      'agents/small.md': file,
      'features/compaction.yaml': auraFile('agent: Compaction'),
      'agents/features/speak.md': '---\nname: Speak\nmodel: { provider: kokoro, name: a }\n---\n',
      'prompts/features/compaction.md': '---\nname: Compaction\n---\nWrite down every price.',
    };
    const right = {
      ...files,
      'agents/features/compaction.md': agent('{ provider: anthropic, name: claude-haiku-4-5 }'),
    };
    expect((await open(right)).warnings).toBe('');
    const wrong = { ...files, 'agents/features/compaction.md': agent('{ provider: kokoro, name: a }') };
    await expect(open(wrong)).rejects.toThrow(/agents\/features\/compaction\.md.*kokoro:a/s);
  });

  it('of other systems do nothing where an agent names no compaction, and say so', async () => {
    const files = {
      'agent.yaml': 'model: anthropic:claude-sonnet-4-5',
      'compaction.yaml': 'budget_percent: 0.8',
    };
    const { agent, warnings } = await open(files);
    expect(agent.capabilities).not.toContain('compaction');
    expect(warnings).toContain('compaction.yaml: does nothing: the agent names no compaction');
  });

  const auraModel = 'model:\n  provider: ollama\n  name: qwen3:8b\n  context: 65536\n  think: medium\n';

  it('hold a summarizer with Aura’s own front matter', async () => {
    const { agent, warnings } = await open({
      'agent.yaml': AGENT,
      'compaction.yaml': auraFile('agent: Compaction'),
      'prompts/Compaction.md': `---\nname: Compaction\n${auraModel}hide: true\nsystem: Compaction\n---\nWrite minutes.`,
    });
    expect(agent.capabilities).toContain('compaction');
    expect(warnings.split('\n')).toEqual([
      'prompts/Compaction.md: model.think: a key of Aura, which does nothing here',
      'prompts/Compaction.md: system: unknown key, which does nothing',
    ]);
  });

  const auraAgent = (more: string) => `---
name: MyAgent
${auraModel}  generation: { temperature: 0.7, top_k: 40, max_output_tokens: 8000 }
thinking: strip
${more}
hooks: { disabled: ["go:*"] }
features:
  tools: { max_steps: 100 }
  compaction: { threshold: 90 }
  title: { enabled: false }
hide: true
agentsmd: all
system: Agentic
mode: Edit
capabilities: [shell, workspace_tools]
---
You review.`;

  it('hold an agent with Aura’s own front matter', async () => {
    const files = {
      'agent.md': auraAgent('tools: { enabled: ["*"], disabled: [Bash] }'),
      'prompts/system/Agentic.md': '---\nname: Agentic\n---\nYou act.',
    };
    const { agent, warnings } = await open(files);
    expect(agent.name).toBe('MyAgent');
    expect(agent.capabilities).toEqual(expect.arrayContaining(['compaction', 'permissions']));
    const told = warnings.split('\n').map((line) => line.split(': ')[1]);
    expect(told.toSorted()).toEqual([
      'agentsmd',
      'features.title',
      'hide',
      'hooks',
      'mode',
      'model.generation.top_k',
      'model.think',
      'thinking',
    ]);
  });

  it('forbid tools by the rules of permissions', () => {
    const policy = { auto: ['Read'], confirm: ['Todo*'], deny: ['Bash:rm -rf *', 'mcp__github__*'] };
    const tools = { enabled: ['*'], disabled: ['Write', 'Vision'], policy };
    const model = { provider: 'ollama', name: 'qwen3:8b', context: 65_536 };
    const given = { model, tools, permissions: { mode: 'explore', deny: ['read_file(.env)'] } };
    expect(agentFromAura(given, 'agent.md')).toEqual({
      known: {
        model: { id: 'compatible:qwen3:8b', context_window: 65_536 },
        permissions: {
          mode: 'explore',
          deny: [
            'read_file(.env)',
            { tool: 'write_file' },
            { tool: 'execute', match: 'rm -rf *' },
            { tool: 'mcp__github__*' },
          ],
          ask: [{ tool: 'todo_write' }],
        },
      },
      ignored: ['tools.policy.auto'],
    });
  });

  it('keep the tools that are enabled, and none beside them', async () => {
    const tools = { enabled: ['Read', 'Todo*', 'mcp__github__*', 'WebFetch'] };
    expect(agentFromAura({ tools }, 'agent.md')).toEqual({
      known: { tools: ['read_file', 'todo_write', 'mcp__github__*'] },
      ignored: ['tools.enabled: WebFetch'],
    });
    expect(agentFromAura({ tools: { enabled: ['Vision'] } }, 'agent.md').known).toEqual({ tools: [] });
    const { agent, warnings } = await open({ 'agent.md': auraAgent('tools: { enabled: [Read, Bash] }') });
    expect(agent.capabilities).toContain('narrowing');
    expect(warnings).not.toContain('tools');
  });

  it.each([
    ['Write:src/keys.ts', ['src/keys.ts'], ['src/other.ts']],
    ['Write:src/*', ['src/a', 'src/a/b/c.ts', 'SRC/a'], ['other/a', 'source']],
    ['Write:*.env', ['.env', 'a.env', 'deep/er/.env'], ['a.envy', 'env']],
    ['Write:src/**', ['src/a/b'], ['a/src.ts']],
  ])('deny paths at any depth that %s covers', async (pattern, covered, free) => {
    const { known } = agentFromAura({ tools: { policy: { deny: [pattern] } } }, 'agent.md');
    const { authorize } = permissions({ mode: 'bypass', ...(known.permissions as PermissionsConfig) });
    const [tool] = workspaceTools().tools?.filter(({ definition }) => definition.name === 'write_file') ?? [];
    const state = AgentState.create({ sessionId: 's' });
    const scope = { tool, state, workspace: new LocalWorkspace(directory) } as unknown as ToolScope;
    const judged = async (path: string) => {
      const call = { type: 'tool_use', id: 'c', name: 'write_file', input: { path, content: '' } } as const;
      return [path, (await authorize?.(call, scope))?.type === 'deny'];
    };
    for (const path of covered) expect(await judged(path)).toEqual([path, true]);
    for (const path of free) expect(await judged(path)).toEqual([path, false]);
  });

  it.each([
    ['tools: { enabled: [Raed] }', 'tools.enabled[0]: "Raed" has no counterpart here'],
    ['tools: { enabled: ["Bash:git *"] }', 'tools.enabled[0]: "Bash:git *" is a part of a tool'],
    ['tools: { policy: { confirm: ["Write:a*/b*"] } }', 'tools.policy.confirm[0]: "Write:a*/b*" has no'],
    ['tools: { policy: { deny: ["Write:~/.ssh"] } }', 'tools.policy.deny[0]: "Write:~/.ssh" has no'],
    ['inherit: [Base]', 'inherit: unknown key here; write the keys of the agents that it names'],
    ['files: [a.md]', 'files: unknown key here; write their text into this file'],
    ['tools: { disabled: [Bsh] }', 'tools.disabled[0]: "Bsh" has no counterpart here'],
    [
      'tools: { policy: { deny: ["Write:/tmp/*"] } }',
      'tools.policy.deny[0]: "Write:/tmp/*" has no counterpart',
    ],
    ['temperature: 1', 'temperature: is given already, by a key of Aura'],
  ])('refuse what limits an agent and cannot here: %s', async (more, message) => {
    await expect(open({ 'agent.md': auraAgent(more) })).rejects.toThrow(message);
  });

  it.each(['inherit: []', 'files: []', 'response_format: text'])(
    'load with what says nothing: %s',
    async (more) => {
      const beside = { 'prompts/system/Agentic.md': 'You act.' };
      expect((await open({ 'agent.md': auraAgent(more), ...beside })).agent.name).toBe('MyAgent');
    },
  );

  it('say in which of two files a mistake stands, and under which key a model', async () => {
    const agent = (words: string) =>
      `model: anthropic:claude-sonnet-4-5\nfeatures: { compaction: { ${words} } }`;
    await expect(
      open({ 'agent.yaml': agent('threshold: 45'), 'compaction.yaml': 'threshold: 80\ntrim_threshold: 50' }),
    ).rejects.toThrow(
      'features.compaction: together with compaction.yaml, where trim_threshold: 50 must be below threshold 45',
    );
    rmSync(join(directory, 'compaction.yaml'));
    await expect(open({ 'agent.yaml': agent('preset: aura, agent: "nowhere:x"') })).rejects.toThrow(
      'features.compaction.agent: "nowhere:x" is not PROVIDER:MODEL',
    );
    await expect(open({ 'agent.yaml': agent('model: "nowhere:x"') })).rejects.toThrow(
      'features.compaction.model: "nowhere:x" is not PROVIDER:MODEL',
    );
  });

  it('name a summarizer with a window, strictly', async () => {
    const files = (model: string) => ({
      'agent.yaml': AGENT,
      'compaction.yaml': auraFile('agent: Compaction'),
      'prompts/Compaction.md': `---\nname: Compaction\n${model}\n---\nWrite minutes.`,
    });
    const model = 'model: { id: anthropic:claude-haiku-4-5, context_window: 200000 }';
    expect((await open(files(model))).warnings).toBe('');
    await expect(open(files('modle: anthropic:claude-haiku-4-5'))).rejects.toThrow(
      'Invalid prompts/Compaction.md: modle: unknown key; did you mean model?',
    );
    await expect(open(files('model: { id: anthropic:x, context_windw: 5 }'))).rejects.toThrow(
      /prompts\/Compaction\.md: model.*context_windw: unknown key/,
    );
    await expect(open(files('model: nowhere:x'))).rejects.toThrow(
      /prompts\/Compaction\.md: model: "nowhere:x" is not PROVIDER:MODEL/,
    );
  });
});
