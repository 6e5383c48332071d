import {
  assistantMessage,
  defineTool,
  type ToolOutputBlock,
  type ToolResultBlock,
  type ToolScope,
  type ToolUseBlock,
  textOf,
  toolResultMessage,
  userMessage,
  type Workspace,
} from '@x/core';
import { toolResultBlock } from '@x/core/messages';
import { describe, expect, it } from 'vitest';
import type { EvictionConfig } from '../../src/eviction/tool-result-eviction.js';
import { maskOutputs, toolResultEviction } from '../../src/index.js';
import { at, lines, meter, reduceWith, round } from '../build.js';
import { modelOf, said } from '../models.js';
import { scopeOf, toolScopeOf } from '../scope.js';

const call = (name = 'execute', id = 'call-1'): ToolUseBlock => ({ type: 'tool_use', id, name, input: {} });

function memoryWorkspace() {
  const files = new Map<string, string>();
  const workspace = {
    reach: 'process',
    async write(path: string, data: string) {
      files.set(path, data);
    },
  } as unknown as Workspace;
  return { workspace, files };
}

interface Setting extends Partial<Pick<ToolScope, 'workspace' | 'tool' | 'model'>> {
  readonly use?: ToolUseBlock;
  readonly config?: EvictionConfig;
}

async function evict(
  output: string | readonly ToolOutputBlock[],
  { use = call(), config = {}, workspace = memoryWorkspace().workspace, ...more }: Setting = {},
) {
  const scope = toolScopeOf(workspace, more);
  const result = (await toolResultEviction({ maxResultChars: 80_000, ...config }).aroundTool?.(
    use,
    scope,
    async (made) => toolResultBlock(made, output),
  )) as ToolResultBlock;
  return { result, text: textOf([result]), scope };
}

describe('toolResultEviction', () => {
  it('writes the whole text and leaves size, head, tail and a pointer', async () => {
    const { workspace, files } = memoryWorkspace();
    const full = `HEAD${lines(12_000)}TAIL`;
    const { text, scope } = await evict(full, { workspace });
    const [[path, stored]] = [...files] as [[string, string]];
    expect(stored).toBe(full);
    expect(path).toMatch(/^large_tool_results\/agents\/coder\/s1\/[0-9a-f]{32}\.txt$/);
    expect(text).toContain(`${full.length} characters in 12000 lines`);
    expect(text).toContain(path);
    expect(text).toContain('read_file');
    expect(text).toContain('HEADline 0');
    expect(text.endsWith('TAIL')).toBe(true);
    expect(text.length).toBeLessThan(4_400);
    expect(scope.events).toEqual([{ type: 'tool.evicted', toolUseId: 'call-1', path, chars: full.length }]);
  });

  it('shows beside the ends the lines that are like no other', async () => {
    const half = Array.from({ length: 3_000 }, (_, row) => `INFO order ${row} done in ${row % 90}ms`).join(
      '\n',
    );
    const { text } = await evict(`${half}\nERROR order 99117 failed\n${half}`);
    expect(text).toMatch(
      / characters …\]\n\[Omitted lines that are unlike all others:\]\nERROR order 99117 failed\n/,
    );
  });

  it('leaves a result of exactly the limit, and those of excluded and of paged tools, whole; a name alone excludes nothing', async () => {
    const big = 'y'.repeat(80_001);
    const config = { maxResultChars: 80_000 };
    expect((await evict('y'.repeat(80_000), { config })).text).toHaveLength(80_000);
    expect((await evict(big, { config, use: call('read_file') })).text).not.toBe(big);
    expect(
      (await evict(big, { config: { ...config, excludeTools: ['read_*'] }, use: call('read_file') })).text,
    ).toBe(big);
    const input = { type: 'object' } as const;
    const tool = defineTool({ name: 'page', description: 'Pages', paged: true, input, execute: () => big });
    expect((await evict(big, { config, use: call('page'), tool })).text).toBe(big);
    expect((await evict(big, { config: { maxResultChars: 0 } })).text).toBe(big);
  });

  it('takes a quarter of the window for the limit, in tokens, where none is named', async () => {
    for (const word of ['word ', '数据库 ']) {
      const result = word.repeat(Math.floor(20_000_000 / meter.text(word.repeat(1_000))));
      const evictedAt = async (contextWindow: number) =>
        (
          await evict(result, {
            config: { maxResultChars: undefined },
            model: modelOf(() => '', { contextWindow }),
          })
        ).text !== result;
      expect(await evictedAt(8_000)).toBe(true);
      expect(await evictedAt(60_000)).toBe(true);
      expect(await evictedAt(100_000)).toBe(false);
      expect(await evictedAt(1_000_000)).toBe(false);
    }
  });

  it('puts the largest of a batch into files when the new results do not fit together, and the log has them whole', async () => {
    const { workspace, files } = memoryWorkspace();
    const outputs = [
      'small',
      `BEGIN ${'word '.repeat(20_000)} END`,
      'word '.repeat(2_000),
      `FIRST ${'數據 '.repeat(9_000)} LAST`,
    ];
    const calls = outputs.map((_, index) => call('fetch', `call${index}`));
    const results = calls.map((use, index) => toolResultMessage(use, outputs[index] ?? ''));
    const model = modelOf(() => '', { contextWindow: 32_000 });
    const scope = scopeOf([userMessage('go'), assistantMessage(calls), ...results], {
      storage: workspace,
      model,
    });
    await toolResultEviction().aroundReason?.(scope, async () => said('done'));
    const now = scope.state.context.slice(2).map((message) => textOf(message));
    expect([now[0], now[2]]).toEqual([outputs[0], outputs[2]]);
    expect(meter.messages(scope.state.context)).toBeLessThan(29_000);
    expect(meter.messages(scope.state.context)).toBeGreaterThan(25_000);
    for (const [text, begin, end] of [
      [now[1], 'BEGIN', 'END'],
      [now[3], 'FIRST', 'LAST'],
    ] as const) {
      expect(text?.startsWith(begin)).toBe(true);
      expect(text?.endsWith(end)).toBe(true);
      expect(text).toMatch(
        /characters are left out: .+ full text: large_tool_results\/\S+\.txt, which read_file reads/,
      );
    }
    expect([...files.values()]).toEqual([outputs[1], outputs[3]]);
    expect(scope.log.messages).toEqual([results[1], results[3]]);
    expect(scope.events.map(({ type }) => type)).toEqual(['tool.evicted', 'tool.evicted']);

    // Masked later, the stub points at the file.
    const masked = await reduceWith(maskOutputs({ keepRecentToolOutputs: 0 }), [
      ...scope.state.context,
      assistantMessage('ok'),
    ]);
    expect(textOf(at(masked.messages, 3))).toContain('large_tool_results/');
  });

  it('leaves a batch that fits as it is, however large', async () => {
    const calls = Array.from({ length: 10 }, (_, index) => call('fetch', `call${index}`));
    const results = calls.map((use) => toolResultMessage(use, 'word '.repeat(7_500)));
    const messages = [userMessage('go'), assistantMessage(calls), ...results];
    const scope = scopeOf(messages, { storage: memoryWorkspace().workspace });
    await toolResultEviction().aroundReason?.(scope, async () => said('done'));
    expect(scope.state.context).toEqual(messages);
  });

  it('keeps images, and evicts a text that looks like an evicted one', async () => {
    const image = { type: 'file', mediaType: 'image/png', source: { type: 'base64', data: 'AA' } } as const;
    const { text } = await evict('z'.repeat(90_000));
    const { result } = await evict([{ type: 'text', text: text.repeat(30) }, image]);
    expect(result.output).toContain(image);
    expect(result.output).toHaveLength(2);
    expect(textOf([result]).length).toBeLessThan(5_000);
  });

  it('writes the same text once and different ones apart, whatever the id', async () => {
    const { workspace, files } = memoryWorkspace();
    const use = call('execute', '../../etc/passwd');
    await evict('a'.repeat(90_000), { use, workspace });
    await evict('a'.repeat(90_000), { workspace });
    await evict('b'.repeat(90_000), { use, workspace });
    expect(files.size).toBe(2);
    for (const path of files.keys()) {
      expect(path.split('/')).toHaveLength(5);
      expect(path.split('/')).not.toContain('..');
    }
  });

  it('leaves the result whole when it cannot be written, and warns', async () => {
    const workspace = { write: () => Promise.reject(new Error('disk full')) } as unknown as Workspace;
    const big = 'w'.repeat(90_000);
    const { text, scope } = await evict(big, { workspace });
    expect(text).toBe(big);
    expect(scope.events).toMatchObject([{ type: 'warning', message: expect.stringContaining('disk full') }]);
  });

  it('never splits a surrogate pair', async () => {
    const { text } = await evict('🦊'.repeat(50_000), { config: { previewChars: 1_001 } });
    expect(() => encodeURIComponent(text)).not.toThrow();
  });

  it('is remembered when the result is masked later: the stub points at the file', async () => {
    const { result } = await evict('v'.repeat(90_000));
    const [assistant, tool] = round();
    const messages = [assistant, { ...tool, content: [result] }, ...round()];
    const { messages: after } = await reduceWith(maskOutputs({ keepRecentToolOutputs: 1 }), messages);
    expect(textOf(at(after, 1))).toContain('full text: read_file large_tool_results/agents/coder/s1/');
  });
});
