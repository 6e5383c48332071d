import { describe, expect, it } from 'vitest';
import { runChild } from '../children/run-child.js';
import { testWorkspace } from '../support/test-context.js';

describe('several processes', () => {
  it('add to one note, and flush one session, without losing or doubling a bullet', async () => {
    const workspace = await testWorkspace();
    const names = ['1', '2', '3'];
    const count = 12;
    const codes = await Promise.all(
      names.map((name) => runChild('flush-facts', workspace.root, name, `${count}`)),
    );
    expect(codes).toEqual([0, 0, 0]);
    const notes: string[] = [];
    for await (const { path } of workspace.list('users/alice/memory')) {
      if (path.endsWith('.md')) notes.push(Buffer.from(await workspace.read(path)).toString('utf8'));
    }
    const lines = notes.join('').split('\n');
    for (const line of lines)
      expect(line).toMatch(/^(?:- In call \d+: fact-\d+|<!-- flush [0-9a-f]{16} -->|)$/);
    const expected = names.flatMap((name) =>
      [0, 1].flatMap((index) =>
        Array.from(
          { length: count },
          (_, number) => `fact-${name}${index}${String(number).padStart(2, '0')}`,
        ),
      ),
    );
    expect(lines.flatMap((line) => line.match(/fact-\d+/g) ?? []).sort()).toEqual(expected.sort());
  });
});
