import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type AgentEvent, assistantMessage, type StopReason, toolResultMessage } from '../../src/index.js';
import { withoutOpenCalls } from '../../src/internal.js';

const place = { seq: 1, sessionId: 's', agentId: 'a', callId: 'c', step: 1, at: '' };
const use = (id: string) => ({ type: 'tool_use' as const, id, name: 'work', input: {} });
const ids = fc.constantFrom('t1', 't2', 't3');

const flat: fc.Arbitrary<AgentEvent> = fc.oneof(
  ids.map((id) => ({ ...place, type: 'tool.call' as const, call: use(id) })),
  ids.map((toolUseId) => ({
    ...{ ...place, type: 'tool.delta' as const, messageId: 'm', draft: 1 },
    ...{ toolUseId, name: 'work', inputDelta: '{' },
  })),
  fc.constant({ ...place, type: 'draft.discarded' as const, messageId: 'm', draft: 1, text: '' }),
  ids.map((id) => {
    const [result] = toolResultMessage(use(id), 'done').content;
    return { ...place, type: 'tool.result', result, durationMs: 1 } as AgentEvent;
  }),
  ids.map((id) => ({ ...place, type: 'message.added' as const, message: assistantMessage([use(id)]) })),
  ids.map((id) => ({ ...place, type: 'message.added' as const, message: toolResultMessage(use(id), 'in') })),
  fc.constant({ ...place, type: 'call.failed' as const, callId: 'c', error: new Error('x') }),
  fc
    .constantFrom<StopReason>('completed', 'interrupted', 'max_iterations', 'permission_required')
    .map((stopReason) => ({ ...place, type: 'call.completed', stopReason }) as AgentEvent),
);
/** Events of subagents, also of subagents of those. */
const nested: fc.Arbitrary<AgentEvent> = fc.oneof(
  { weight: 3, arbitrary: flat },
  fc.tuple(fc.constantFrom('k1', 'k2'), flat, fc.boolean()).map(([taskId, event, isDeep]) => {
    const inner = { ...place, type: 'subagent.event' as const, taskId, subagent: 'x', event };
    return isDeep ? { ...inner, event: { ...inner, taskId: 'deep' } } : inner;
  }),
);

/** The calls that a reader of the events takes for running, by task. Calls that have not begun may wait for a decision. */
function openIn(events: readonly AgentEvent[], task = '', open = new Map<string, Map<string, boolean>>()) {
  for (const event of events) {
    const mine = open.get(task) ?? new Map<string, boolean>();
    open.set(task, mine);
    if (event.type === 'subagent.event') openIn([event.event], `${task}/${event.taskId}`, open);
    if (event.type === 'tool.call') mine.set(event.call.id, true);
    if (event.type === 'tool.delta') mine.set(event.toolUseId, mine.get(event.toolUseId) ?? false);
    if (event.type === 'tool.result') mine.delete(event.result.toolUseId);
    const waits = event.type === 'call.completed' && event.stopReason === 'permission_required';
    if (event.type === 'draft.discarded' || waits)
      for (const [id, hasBegun] of mine) if (!hasBegun) mine.delete(id);
  }
  return [...open].flatMap(([name, mine]) => [...mine.keys()].map((id) => `${name}:${id}`));
}

it('gives each call a result, of subagents too, however the stream ends', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(nested, { maxLength: 20 }), fc.boolean(), async (given, breaks) => {
      async function* source() {
        yield* given;
        if (breaks) throw new Error('The stream broke off.');
      }
      const events: AgentEvent[] = [];
      const read = (async () => {
        for await (const event of withoutOpenCalls(source())) events.push(event);
      })();
      await (breaks ? expect(read).rejects.toThrow('broke off') : read);
      expect(openIn(events)).toEqual([]);
      // Nothing else is added or left out.
      expect(events.filter((event) => given.includes(event))).toEqual(given);
      const added = events.filter((event) => !given.includes(event));
      expect(added.every((event) => ['tool.result', 'subagent.event'].includes(event.type))).toBe(true);
    }),
    { numRuns: 300 },
  );
});

async function passed<Item>(items: readonly Item[]): Promise<readonly Item[]> {
  const read: Item[] = [];
  for await (const item of withoutOpenCalls(Readable.from(items, { objectMode: true }))) read.push(item);
  return read;
}

it('passes what is no event', async () => {
  const given = [{ data: 1 }, 0, 'text'];
  expect(await passed(given)).toEqual(given);
});

it('leaves calls open that wait for a decision, and says so of the call that made one of them', async () => {
  const given: AgentEvent[] = [
    { ...place, type: 'message.added', message: assistantMessage([use('spawn'), use('asked')]) },
    { ...place, type: 'tool.call', call: use('spawn') },
    { ...place, type: 'call.completed', stopReason: 'permission_required' } as AgentEvent,
  ];
  const results = (await passed(given)).flatMap((event) =>
    event.type === 'tool.result' ? [event.result] : [],
  );
  expect(results).toMatchObject([{ toolUseId: 'spawn', isError: false }]);
  expect(JSON.stringify(results)).toContain('waits for a decision');
});
