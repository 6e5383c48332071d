import { describe, expect, it } from 'vitest';
import { assistantMessage, textOf, toolResultMessage, userMessage } from '../../src/messages/message.js';
import { setAside } from '../../src/messages/set-aside.js';

const png = { type: 'file', mediaType: 'image/png', source: { type: 'base64', data: 'AAAA' } } as const;
const large = 'x'.repeat(100_001);

describe('setAside', () => {
  it('takes files and large texts, or all', () => {
    const message = userMessage([{ type: 'text', text: 'See' }, { type: 'text', text: large }, png]);
    const said = (extent: Parameters<typeof setAside>[1]) => textOf(setAside(message, extent));
    expect(said('large')).toMatch(/A file \(image\/png, 3 bytes\)/);
    expect(said('large')).not.toContain(large);
    expect(said('large')).toMatch(/a text of 100001 characters.*\nSee$/s);
    expect(said('all')).not.toContain('See');
    expect(setAside(message, 'all')).toMatchObject({ id: message.id, role: 'user' });
  });

  it('keeps calls and results as pairs, without what they hold', () => {
    const call = { type: 'tool_use', id: 'c', name: 'look', input: { path: 'secret' } } as const;
    const answer = assistantMessage([{ type: 'text', text: 'secret' }, call]);
    const result = toolResultMessage(call, [{ type: 'text', text: 'secret' }, png], { isError: true });
    expect(setAside(answer, 'all').content).toMatchObject([{ type: 'text' }, { ...call, input: {} }]);
    expect(setAside(result, 'all').content).toMatchObject([
      { toolUseId: 'c', isError: true, output: [{ type: 'text' }] },
    ]);
    expect(JSON.stringify([setAside(answer, 'all'), setAside(result, 'all')])).not.toContain('secret');
    expect(textOf(setAside(result, 'large'))).toMatch(/^secret\n\[Set aside/);
  });

  it('gives the same message back where there is nothing to take, and takes it once', () => {
    const message = userMessage('Hi');
    expect(setAside(message, 'large')).toBe(message);
    const empty = setAside(message, 'all');
    expect(setAside(empty, 'all')).toBe(empty);
  });
});
