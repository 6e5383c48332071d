import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toolNames } from '../../src/mcp/to-tool.js';

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

  it('leaves a name that fits as it is', () => {
    expect(toolNames('files', ['read', 'a.b']).get('read')).toBe('mcp__files__read');
    expect(toolNames('files', ['a.b']).get('a.b')).toBe('mcp__files__a_b');
  });
});
