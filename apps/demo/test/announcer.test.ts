import { expect, it } from 'vitest';
import type { Sent } from '../src/page.js';
import { announce, announcement } from '../web/src/state/announcer.js';

it('speaks names as they are, and answers without their marks', () => {
  const announced = (...items: object[]) => {
    announce(items as Sent[]);
    return announcement.value;
  };
  expect(announced({ type: 'tool.call', call: { name: 'memory_save' } })).toBe('Runs memory_save.');
  const text = '## Done\n- It is **in** `memory_save` and `__init__`, says _this_ a_b. More.';
  expect(announced({ type: 'text.delta', text }, { type: 'model.completed' })).toBe(
    'Done\nIt is in memory_save and __init__, says this a_b. More.',
  );
});
