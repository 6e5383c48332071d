import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AGENT, directory, open, withDirectory } from './open-files.js';

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
    expect(warnings).toContain('the default summarizer is used instead');
  });

  it.each(['agent: Compaction', 'prompt: Compaction'])(
    'load with the default that Aura ships, which no file holds: %s',
    async (names) => {
      const { agent, warnings } = await open({ 'agent.yaml': AGENT, 'compaction.yaml': auraFile(names) });
      expect(agent.capabilities).toContain('compaction');
      expect(warnings).toBe('');
    },
  );

  it.each(['compaction.yaml', 'compaction.yml'])(
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
    expect(warnings).toContain('compaction.yaml: does nothing, because the agent does not name compaction');
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
      'features.compaction.agent: "nowhere:x" is not of the form PROVIDER:MODEL',
    );
    await expect(open({ 'agent.yaml': agent('model: "nowhere:x"') })).rejects.toThrow(
      'features.compaction.model: "nowhere:x" is not of the form PROVIDER:MODEL',
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
      /prompts\/Compaction\.md: model: "nowhere:x" is not of the form PROVIDER:MODEL/,
    );
  });
});
