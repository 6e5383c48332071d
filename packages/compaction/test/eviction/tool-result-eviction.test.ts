import {
  type ToolOutputBlock,
  type ToolResultBlock,
  type ToolUseBlock,
  textOf,
  toolResultBlock,
  type Workspace,
} from '@x/core';
import { describe, expect, it } from 'vitest';
import { maskOutputs, toolResultEviction } from '../../src/index.js';
import { at, lines, reduceWith, round } from '../build.js';
import { toolScopeOf } from '../scope.js';

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

async function evict(
  output: string | readonly ToolOutputBlock[],
  { use = call(), config = {}, workspace = memoryWorkspace().workspace } = {},
) {
  const scope = toolScopeOf(workspace);
  const result = (await toolResultEviction(config).aroundTool?.(use, scope, async (made) =>
    toolResultBlock(made, output),
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

  it('leaves a result of exactly the limit, and excluded tools, whole; shell output is never excluded', async () => {
    const big = 'y'.repeat(80_001);
    expect((await evict('y'.repeat(80_000))).text).toHaveLength(80_000);
    for (const name of ['read_file', 'grep_files', 'memory_search', 'memory_get', 'session_search']) {
      expect((await evict(big, { use: call(name) })).text).toBe(big);
    }
    expect((await evict(big)).text).not.toBe(big);
    expect((await evict(big, { config: { maxResultChars: 0 } })).text).toBe(big);
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
