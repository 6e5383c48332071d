import { join } from 'node:path';
import { compileSchema } from '@x/core/messages';
import { describe, expect, it } from 'vitest';
import { agentFileSchema } from '../../src/agent/capabilities.js';
import { AGENT, directory, open, withDirectory } from './open-files.js';

withDirectory();

describe('files of Everruns', () => {
  it('load with models of the agent’s provider', async () => {
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
`,
    });
    expect(agent.capabilities).toContain('compaction');
    expect(warnings).toBe('');
  });

  it('load where the capability is the whole file, once a model is named', async () => {
    const file = JSON.stringify({ ref: 'compaction', config: { strategy: 'auto', memory_tiers: null } });
    await expect(open({ 'agent.json': file })).rejects.toThrow(/: model: /);
    const { agent, warnings } = await open({ 'agent.json': file }, 'anthropic:claude-sonnet-4-5');
    expect(agent.capabilities).toContain('compaction');
    expect(warnings).toBe('');
  });
});

describe('mistakes', () => {
  it.each([
    ['threshold: 80', 'threshold: unknown key here; threshold belongs to another group or preset'],
    ['model: Compaction', 'It is not PROVIDER:MODEL, and there is no file'],
    ['summary: { prompt: brief }', 'To define it, create'],
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
  const schema = compileSchema(agentFileSchema(), names);
  const check = async (file: unknown) => schema.parse(file);
  const fileWith = (features: object) => ({ model: 'openai:gpt-5', features });

  it.each([
    { compaction: true },
    { compaction: { keep: { messages: 3 } } },
    { compaction: { threshold: 80, keep_last_messages: 10, prune: { mode: 'iteration' } } },
    { compaction: { strategy: 'native', proactive: false } },
    { compaction: { trigger_messages: 50, keep_messages: 20 } },
  ])('finds %j right', async (features) => {
    await expect(check(fileWith(features))).resolves.toBeDefined();
  });

  it.each([{ compaction: { keep: { message: 3 } } }, { compactions: true }, { todo_list: 3 }])(
    'finds %j wrong',
    async (features) => {
      await expect(check(fileWith(features))).rejects.toThrow('agent.yaml');
    },
  );

  it.each([
    { model: { provider: 'openai', name: 'gpt-5' } },
    { model: 'openai:gpt-5', top_p: 1 },
    { model: 'openai:gpt-5', tools: { enabled: ['Bash'] } },
    { model: 'openai:gpt-5', features: { tools: { max_chars: 9 } } },
    { model: 'openai:gpt-5', max_iteration: 9 },
  ])('finds %j wrong, which does not load', async (file) => {
    await expect(check(file)).rejects.toThrow('agent.yaml');
    const text = `---\n${JSON.stringify(file)}\n---\nYou review.`;
    await expect(open({ 'agent.md': text })).rejects.toThrow('agent.md');
  });
});
