import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { compileSchema } from '@x/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agentFromAura } from '../../src/agent/aura-file.js';
import { agentFileSchema } from '../../src/agent/capabilities.js';
import { openAgent } from '../../src/agent/open-agent.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'x-pasted-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }));

const environment = { OPENAI_BASE_URL: 'http://127.0.0.1:1', ANTHROPIC_API_KEY: 'key' };

/** Opens the first of the files; the warnings with it. */
async function open(files: Readonly<Record<string, string>>, model?: string) {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  const warnings: string[] = [];
  const file = join(directory, Object.keys(files)[0] ?? '');
  const warn = (message: string) => warnings.push(message);
  const { agent, close } = await openAgent(file, { project: directory, environment, warn, model });
  await close();
  return { agent, warnings: warnings.join('\n') };
}

const AGENT = 'model: anthropic:claude-sonnet-4-5\ncapabilities: [compaction]\n';

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

  it.each([
    ['tools: { enabled: [Read] }', 'tools.enabled: cannot name the tools that stay'],
    ['tools: { disabled: [Bsh] }', 'tools.disabled[0]: "Bsh" has no counterpart here'],
    [
      'tools: { policy: { deny: ["Write:/tmp/*"] } }',
      'tools.policy.deny[0]: "Write:/tmp/*" has no counterpart',
    ],
    ['temperature: 1', 'temperature: is given already, by a key of Aura'],
  ])('refuse what limits an agent and cannot here: %s', async (more, message) => {
    await expect(open({ 'agent.md': auraAgent(more) })).rejects.toThrow(message);
  });

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
      /Invalid prompts\/Compaction\.md: model.*context_windw: unknown key/,
    );
    await expect(open(files('model: nowhere:x'))).rejects.toThrow(
      /Invalid prompts\/Compaction\.md: model: "nowhere:x" is not PROVIDER:MODEL/,
    );
  });
});

describe('files of Everruns', () => {
  it('load with models of the agent’s provider and the rules of cost', async () => {
    const { agent, warnings } = await open({
      'agent.yaml': `model: anthropic:claude-sonnet-4-5
capabilities:
  - ref: compaction
    config:
      strategy: auto
      proactive: true
      budget_percent: 0.85
      observation_masking: { keep_recent_tool_outputs: 2, summary_format: one_line }
      summarization: { model: claude-haiku-4-5-20251001, preserve: [file_paths, decisions], instructions: null }
      memory_tiers: { hot_messages: 20, warm_messages: 100 }
      cost_control: { enabled: true }
`,
    });
    expect(agent.capabilities).toContain('compaction');
    expect(warnings).toMatch(/^cost_control: has no effect/);
  });

  it('load where the capability is the whole file, once a model is named', async () => {
    const file = JSON.stringify({ ref: 'compaction', config: { strategy: 'auto', memory_tiers: null } });
    await expect(open({ 'agent.json': file })).rejects.toThrow(/: model: /);
    const { agent, warnings } = await open({ 'agent.json': file }, 'anthropic:claude-sonnet-4-5');
    expect(agent.capabilities).toContain('compaction');
    expect(warnings).toBe('');
  });
});

describe('files of AgentScope', () => {
  it('load with keys of newer versions, and tell of those without effect', async () => {
    const keys = {
      trigger_messages: 50,
      reserved: 20_000,
      keep_tokens: -1,
      keep_tokens_min: 2_000,
      keep_tokens_max: 8_000,
      keep_tokens_ratio: 0.25,
      truncate_args: null,
      prune: { protect_tokens: 40_000 },
    };
    const { agent, warnings } = await open({
      'agent.yaml': `model: anthropic:claude-sonnet-4-5\nfeatures: ${JSON.stringify({ compaction: keys })}`,
    });
    expect(agent.capabilities).toContain('compaction');
    expect(warnings.split('\n')).toEqual(
      ['reserved', 'keep_tokens_min', 'keep_tokens_max', 'keep_tokens_ratio', 'prune'].map(
        (key) => `${key}: has no effect here; delete it`,
      ),
    );
  });
});

describe('subagents', () => {
  const definition = (more: string) =>
    `subagents: { definitions: [{ name: scout, description: Looks things up., ${more} }] }`;

  it('take the models that the agent’s file names', async () => {
    const file = `model: anthropic:claude-sonnet-4-5\n${definition('model: anthropic:claude-haiku-4-5')}`;
    const { agent, warnings } = await open({ 'agent.yaml': file });
    expect(agent.capabilities).toContain('subagents');
    expect(warnings).toBe('');
  });

  it('take a model with its window, as an agent does', async () => {
    const model = (more: string) =>
      `model: anthropic:claude-sonnet-4-5\n${definition(`model: { id: anthropic:claude-haiku-4-5, ${more} }`)}`;
    const { agent, warnings } = await open({ 'agent.yaml': model('context_window: 50000') });
    expect(agent.capabilities).toContain('subagents');
    expect(warnings).toBe('');
    await expect(open({ 'agent.yaml': model('context_windw: 50000') })).rejects.toThrow(
      /agent\.yaml: subagents\.definitions\[0\]\.model.*context_windw/,
    );
  });

  it('name the place of a model that cannot be made', async () => {
    const file = `model: anthropic:claude-sonnet-4-5\n${definition('model: haiku')}`;
    await expect(open({ 'agent.yaml': file })).rejects.toThrow(
      `Invalid ${join(directory, 'agent.yaml')}: subagents.definitions[0].model: "haiku" is not PROVIDER:MODEL`,
    );
  });

  const harmless = ['top_p', 'expose_to_user', 'enable_pending_tool_recovery'];

  it('and the agent itself may have AgentScope’s keys, which warn', async () => {
    const keys = `steps: 5\n${harmless.map((key) => `${key}: true`).join('\n')}\nhidden: false`;
    const subagent = definition(`mode: subagent, ${keys.replaceAll('\n', ', ')}`);
    const { warnings } = await open({
      'agent.md': `---\nmodel: anthropic:claude-sonnet-4-5\n${keys}\nmode: primary\n${subagent}\n---\nYou help.`,
    });
    const told = warnings.split('\n');
    const inDefinition = ['mode', ...harmless];
    for (const key of ['mode', 'hidden', ...harmless]) {
      expect(told).toContain(`${join(directory, 'agent.md')}: ${key}: unknown key, which does nothing`);
    }
    for (const key of inDefinition) {
      expect(told).toContain(`subagents: definitions[0].${key}: unknown key, which does nothing`);
    }
    expect(told).toHaveLength(2 + harmless.length + inDefinition.length);
  });

  it.each(['hidden: true', 'mode: primary'])(
    'of a definition are kept from the model by %s',
    async (line) => {
      const { warnings } = await open({
        'agent.yaml': `model: anthropic:claude-sonnet-4-5\n${definition(line)}`,
      });
      const key = line.split(':')[0];
      expect(warnings).toBe(`subagents: definitions[0].${key}: the model cannot spawn it`);
    },
  );

  it.each([
    ['feature: { compaction: true }', 'feature: unknown key'],
    ['max_iteration: 3', 'max_iteration: unknown key; did you mean max_iterations?'],
    ['top_p: 0.9', 'top_p: unknown key, which does nothing'],
    ['model: openai:gpt-5', 'model: there is no model named "openai:gpt-5" (known: none)'],
    ['"a\\e[2J": 1', 'a[2J: unknown key'],
  ])('in files are read when the agent is opened, and their mistakes told: %s', async (line, problem) => {
    const files = (agent: string) => ({
      'agent.yaml': `model: anthropic:claude-sonnet-4-5\n${agent}`,
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
    [
      'features: { compaction: true }',
      'a subagent has those of its parent: write it in the file of the agent',
    ],
    ['fallback: [openai:gpt-5]', 'a subagent has those of its parent, which take over for it'],
    ['permissions: { mode: bypass }', 'a subagent has those of its parent: write deny to take more away'],
    ['checkpoint: step', 'subagents(…, { settings }) sets it'],
  ])('say why they do not take a key of the agent, and where it goes: %s', async (line, reason) => {
    const model = 'model: anthropic:claude-sonnet-4-5';
    const key = line.split(':')[0];
    await expect(open({ 'agent.yaml': `${model}\n${definition(line)}` })).rejects.toThrow(
      new RegExp(`agent\\.yaml: subagents\\.definitions\\[0\\]\\.${key}: unknown key here; .*`),
    );
    await expect(open({ 'agent.yaml': `${model}\n${definition(line)}` })).rejects.toThrow(reason);
    const { warnings } = await open({
      'agent.yaml': `${model}\nsubagents: {}`,
      'subagents/helper.md': `---\ndescription: Helps.\n${line}\n---\nHelp.`,
    });
    expect(warnings).toContain(`subagents/helper.md: ${key}: unknown key here; `);
    expect(warnings).toContain(reason);
  });

  it.each(['tools: [read_file]', 'deny: [execute]'])(
    'tell an agent where their key goes: %s',
    async (line) => {
      const message = /unknown key here; .*permissions: \{ deny: \[…\] \}/;
      const model = 'model: anthropic:claude-sonnet-4-5';
      await expect(open({ 'agent.md': `---\n${model}\n${line}\n---\nHi` })).rejects.toThrow(message);
      await expect(open({ 'agent.yaml': `${model}\n${line}` })).rejects.toThrow(message);
    },
  );

  it.each(['deney: [execute]', 'permission: { mode: bypass }'])(
    'refuse keys of rights and misspelt ones: %s',
    async (key) => {
      const model = 'model: anthropic:claude-sonnet-4-5';
      await expect(open({ 'agent.yaml': `${model}\n${definition(key)}` })).rejects.toThrow('unknown key');
      await expect(open({ 'agent.md': `---\n${model}\n${key}\n---\nHi` })).rejects.toThrow('unknown key');
    },
  );
});

describe('mistakes', () => {
  it.each([
    ['threshold: 80', 'threshold: unknown key here; threshold belongs to another group or preset'],
    ['model: Compaction', 'it is neither PROVIDER:MODEL nor a file'],
    ['summary: { prompt: brief }', 'it would stand in'],
  ])('of an agent’s file name the file: %s', async (line, message) => {
    const preset = line.startsWith('threshold') ? 'preset: agentscope, ' : '';
    const config = `model: anthropic:claude-sonnet-4-5\nfeatures: { compaction: { ${preset}${line} } }`;
    const opening = open({ 'agent.yaml': config });
    await expect(opening).rejects.toThrow(message);
    await expect(opening).rejects.toThrow(`Invalid ${join(directory, 'agent.yaml')}: features.compaction`);
  });

  it('of compaction.yaml name that file', async () => {
    const files = { 'agent.yaml': AGENT, 'compaction.yaml': 'compaction: {}\nthreshold: 80' };
    await expect(open(files)).rejects.toThrow('Invalid compaction.yaml: threshold: unknown key');
  });
});

describe('the schema for editors', () => {
  const names = { owner: 'agent.schema.json', path: 'schema', value: 'agent.yaml' };
  const check = compileSchema(agentFileSchema(), names);
  const fileWith = (features: object) => ({ model: 'openai:gpt-5', features });

  it.each([
    { compaction: true },
    { compaction: { keep: { messages: 3 } } },
    { compaction: { threshold: 80, keep_last_messages: 10, prune: { mode: 'iteration' } } },
    { compaction: { strategy: 'native', proactive: false } },
    { compaction: { trigger_messages: 50, keep_messages: 20 } },
  ])('finds %j right', async (features) => {
    await expect(check.parse(fileWith(features))).resolves.toBeDefined();
  });

  it.each([{ compaction: { keep: { message: 3 } } }, { compactions: true }, { todo_list: 3 }])(
    'finds %j wrong',
    async (features) => {
      await expect(check.parse(fileWith(features))).rejects.toThrow('agent.yaml');
    },
  );
});
