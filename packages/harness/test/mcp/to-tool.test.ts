import type { JsonObject, ToolContext } from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toolNames, toTool } from '../../src/mcp/to-tool.js';

it('sends the input of a tool to the server as the model wrote it', async () => {
  const inputSchema: JsonObject = { type: 'object', properties: { size: { type: 'number' } } };
  const sent: JsonObject[] = [];
  const tool = toTool('pack', { name: 'pack', inputSchema }, true, async (input) => {
    sent.push(input);
    return [];
  });
  const call = { type: 'tool_use', id: 'c', name: 'pack', input: { size: 'large' } } as const;
  await tool.run(call.input, { call } as unknown as ToolContext);
  expect(sent).toEqual([{ size: 'large' }]);
});

describe('toolNames', () => {
  it('gives any tools of a server names that providers take and no two alike', () => {
    const tool = fc.string({ minLength: 1, maxLength: 90, unit: 'binary' });
    fc.assert(
      fc.property(fc.uniqueArray(tool, { maxLength: 30 }), (tools) => {
        const names = [...toolNames('server', tools).values()];
        expect(names).toHaveLength(tools.length);
        expect(new Set(names).size).toBe(names.length);
        for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      }),
    );
  });

  it('gives no two one name where a server knows how they are made', () => {
    const tools = ['a.b', 'a_b'];
    for (let round = 0; round < 3; round++) {
      const names = [...toolNames('p', tools).values()];
      expect(new Set(names).size).toBe(names.length);
      // The next list has the very names that came out for this one, in either order.
      tools.unshift(
        ...names.map((name) => name.replace('mcp__p__', '')).filter((name) => !tools.includes(name)),
      );
    }
    expect(tools.length).toBeGreaterThan(4);
  });

  it('leaves a name that fits as it is', () => {
    expect(toolNames('files', ['read', 'a.b']).get('read')).toBe('mcp__files__read');
    expect(toolNames('files', ['a.b']).get('a.b')).toBe('mcp__files__a_b');
  });
});
