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

/** The calls that a reader of the events takes for running, by task. */
function openIn(events: readonly AgentEvent[], task = '', open = new Map<string, Set<string>>()) {
  for (const event of events) {
    const mine = open.get(task) ?? new Set();
    open.set(task, mine);
    if (event.type === 'subagent.event') openIn([event.event], `${task}/${event.taskId}`, open);
    if (event.type === 'tool.call') mine.add(event.call.id);
    if (event.type === 'tool.delta') mine.add(event.toolUseId);
    if (event.type === 'tool.result') mine.delete(event.result.toolUseId);
    if (event.type === 'draft.discarded') mine.clear();
    const waits = event.type === 'call.completed' && event.stopReason === 'permission_required';
    if (waits) for (const [name, calls] of open) if (name.startsWith(task)) calls.clear();
  }
  return [...open].flatMap(([name, mine]) => [...mine].map((id) => `${name}:${id}`));
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

it('passes what is no event, and leaves the calls that wait for a human open', async () => {
  async function* source() {
    yield { data: 1 };
    yield { ...place, type: 'tool.call', call: use('t') };
    yield { ...place, type: 'call.completed', stopReason: 'permission_required' };
    yield null;
  }
  const items = [];
  for await (const item of withoutOpenCalls<unknown>(source())) items.push(item);
  expect(items).toHaveLength(4);
});
