import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readText, type ToolOutputBlock, type ToolResultBlock, textOf, userMessage } from '@x/core';
import { toolResultBlock } from '@x/core/messages';
import { LocalWorkspace } from '@x/core/node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EvictionConfig } from '../../src/eviction/tool-result-eviction.js';
import { compaction, toolResultEviction } from '../../src/index.js';
import { at, lines, round } from '../build.js';
import { scopeOf, toolScopeOf } from '../scope.js';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'x-eviction-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }));

async function evict(output: string | readonly ToolOutputBlock[], id = 'call', config: EvictionConfig = {}) {
  const workspace = new LocalWorkspace(directory);
  const scope = toolScopeOf(workspace);
  const call = { type: 'tool_use' as const, id, name: 'execute', input: {} };
  const result = (await toolResultEviction({ maxResultChars: 80_000, ...config }).aroundTool?.(
    call,
    scope,
    async (made) => toolResultBlock(made, output),
  )) as ToolResultBlock;
  const path = scope.events.flatMap((event) => (event.type === 'tool.evicted' ? [event.path] : []))[0] ?? '';
  return { result, path, workspace, scope };
}

describe('an evicted result', () => {
  it('is the one in state, log and view alike: there is no other copy that stays whole', async () => {
    const { result } = await evict(lines(20_000));
    const [assistant, tool] = round();
    const message = { ...tool, content: [result] };
    const scope = scopeOf([userMessage('go'), assistant, message]);
    const response = { content: [{ type: 'text' as const, text: 'ok' }], finishReason: 'stop' as const };
    await toolResultEviction().aroundReason?.(scope, async () => response);
    expect(at(scope.state.context, 2)).toBe(message);
    expect(textOf(message).length).toBeLessThan(4_500);
  });

  it('keeps both files when a provider uses the id of a call again', async () => {
    const one = await evict('a'.repeat(90_000), 'same');
    const other = await evict('b'.repeat(90_000), 'same');
    expect(one.path).not.toBe(other.path);
    expect(await readText(one.workspace, one.path)).toBe('a'.repeat(90_000));
    expect(await readText(other.workspace, other.path)).toBe('b'.repeat(90_000));
  });

  it('that is returned again, word for word, is evicted again', async () => {
    await evict('a'.repeat(90_000));
    const again = await evict('a'.repeat(90_000));
    expect(again.path).not.toBe('');
    expect(textOf([again.result]).length).toBeLessThan(4_500);
    expect(again.scope.events.map(({ type }) => type)).toEqual(['tool.evicted']);
  });

  it('lies in the workspace, wherever its configuration says', async () => {
    const { path, workspace } = await evict('a'.repeat(90_000), 'call', { evictionPath: '/results/large/' });
    expect(path.startsWith('results/large/')).toBe(true);
    expect(await readText(workspace, path)).toHaveLength(90_000);
    const outside = { evictionPath: '../outside' };
    await expect(evict('a', 'call', outside)).rejects.toThrow('evictionPath: must be in the workspace');
    for (const evictionPath of ['/users', 'a/tenants/b', 'agents', '/files/x'])
      await expect(evict('a', 'call', { evictionPath })).rejects.toThrow(
        'evictionPath: must not contain a folder named',
      );
  });

  it('keeps whether the tool failed, its name and its id', async () => {
    const workspace = new LocalWorkspace(directory);
    const call = { type: 'tool_use' as const, id: 'c', name: 'execute', input: {} };
    const result = await toolResultEviction({ maxResultChars: 80_000 }).aroundTool?.(
      call,
      toolScopeOf(workspace),
      async (made) => ({
        ...toolResultBlock(made, 'e'.repeat(90_000)),
        isError: true,
      }),
    );
    expect(result).toMatchObject({ toolUseId: 'c', toolName: 'execute', isError: true });
  });

  it('is what compaction counts: one huge result does not have the conversation summarized', async () => {
    const { result } = await evict('word '.repeat(60_000));
    const [assistant, tool] = round();
    const scope = scopeOf([userMessage('go'), assistant, { ...tool, content: [result] }], {
      model: { ...scopeOf([]).model, contextWindow: 32_000 },
    });
    const response = { content: [{ type: 'text' as const, text: 'ok' }], finishReason: 'stop' as const };
    await compaction().aroundReason?.(scope, async () => response);
    expect(scope.events).toEqual([]);
  });
});
