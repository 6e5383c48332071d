import { compaction } from '@x/compaction';
import {
  type AgentEvent,
  assistantMessage,
  type Message,
  type ModelRequest,
  RuntimeContext,
  type ToolUseBlock,
  textOf,
  toolResultMessage,
  userMessage,
} from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventLog, HarnessAgent, workspaceTools } from '../../src/index.js';
import { isPlace, requestAt } from '../../src/view/index.js';
import { scratch } from '../support.js';

const session = RuntimeContext.of({ sessionId: 's', userId: 'u' });

/** An agent that reads a long file again and again, and keeps what it was asked. */
function open(directory: string) {
  const requests: ModelRequest[] = [];
  const events: AgentEvent[] = [];
  const kept = eventLog();
  const agent = HarnessAgent.builder()
    .model({
      id: 'reader',
      contextWindow: 8_000,
      async generate(request) {
        requests.push({ ...request, messages: [...request.messages] });
        const calls = requests.length % 30;
        const call: ToolUseBlock = {
          type: 'tool_use',
          id: `c-${requests.length}`,
          name: 'read_file',
          input: { path: 'long.txt' },
        };
        if (calls > 0) return { content: [call], finishReason: 'tool-calls' };
        return { content: [{ type: 'text', text: 'Done.' }], finishReason: 'stop' };
      },
    })
    .workspace(directory)
    .use(compaction({ model: null }), workspaceTools(), kept)
    .onEvent((event) => events.push(event))
    .build();
  onTestFinished(() => agent.close());
  return { agent, kept, requests, events };
}

describe('the event log', () => {
  it('says after a restart what the model saw in each request and after each compaction', {
    timeout: 120_000,
  }, async () => {
    const directory = scratch();
    await new LocalWorkspace(directory).write('files.txt', new Uint8Array());
    const { agent, requests, events } = open(directory);
    await agent
      .files(session)
      .write('long.txt', new TextEncoder().encode('A line of the file.\n'.repeat(120)));
    await agent.call('Read it 29 times', session);
    const applied = () =>
      events.filter((event) => event.type === 'context.compacted' && event.status === 'applied');
    expect(applied().length).toBeGreaterThan(2);
    await agent.undo(session);
    await agent.close();

    const again = open(directory);
    const kept = await again.kept.read(again.agent, session);
    const places = kept.filter(isPlace);
    const sent = places.flatMap(({ type }, index) => (type === 'model.started' ? [index + 1] : []));
    expect(sent).toHaveLength(requests.length);
    for (const [step, place] of sent.entries()) {
      const seen = requestAt(kept, place)?.messages.map(textOf);
      expect(seen).toEqual(requests[step]?.messages.filter(({ kind }) => kind !== 'synthetic').map(textOf));
    }
    const reduced = places.findIndex(({ type }) => type === 'context.compacted') + 1;
    const { before = [], messages = [] } = requestAt(kept, reduced) ?? {};
    expect(messages.length).toBeLessThan(before.length);
    expect(requestAt(kept, places.length)?.messages).toEqual((await again.agent.state(session))?.context);
    expect(requestAt(kept, places.length + 1)).toBeUndefined();
    // Every event that was kept is one that was told, and has its number.
    const told = new Map(events.map((event) => [`${event.callId} ${event.seq}`, event.type]));
    expect(kept.filter(({ callId, seq, type }) => told.get(`${callId} ${seq}`) !== type)).toEqual([]);
  });

  it('has the messages of a log without events, and leaves out those that were never stored', async () => {
    const directory = scratch();
    const { agent, kept } = open(directory);
    const log = agent.log(session);
    const call: ToolUseBlock = { type: 'tool_use', id: 'lost', name: 'read_file', input: {} };
    const [asked, lost, answer] = [userMessage('Hi'), assistantMessage([call]), assistantMessage('Hello')];
    await log.append([asked, lost, answer]);
    await agent.updateState(session, (state) => void state.contextMutable().push(asked, answer));
    const read = (await kept.read(agent, session)).flatMap((event) =>
      event.type === 'message.added' ? [event.message.id] : [],
    );
    expect(read).toEqual([asked.id, answer.id]);
  });

  it('goes with the session when that is erased, and skips a line that a crash cut off', async () => {
    const directory = scratch();
    const { agent, kept } = open(directory);
    await agent.call('Hi', session);
    const before = await kept.read(agent, session);
    const path = agent.log(session).location.replace('.log.jsonl', '.events.jsonl');
    await agent.storage.append(path, '{"type":"model.st');
    expect(await kept.read(agent, session)).toEqual(before);
    await agent.eraseUser({ userId: 'u' });
    expect(await agent.storage.stat(path)).toBeUndefined();
    expect(await kept.read(agent, session)).toEqual([]);
  });
});

const call = (id: string): ToolUseBlock => ({ type: 'tool_use', id, name: 'read', input: {} });
const asked = userMessage('Look around');
const [first, second] = [call('one'), call('two')];
const step = assistantMessage([first, second]);
const results = [toolResultMessage(first, 'here'), toolResultMessage(second, 'there')];
const answer = assistantMessage('Nothing there.');
const again = assistantMessage([call('three')]);
const found = toolResultMessage(call('three'), 'here');
const closed = toolResultMessage(first, 'Interrupted', { isError: true });
const one = assistantMessage([first]);
const before = toolResultMessage(first, 'here');
const whole = [asked, step, ...results, answer];

it.each<[string, readonly Message[], readonly Message[], readonly Message[]]>([
  ['is nothing in a conversation that went well', whole, whole, []],
  ['is nothing once all of it was reduced', whole, [answer], []],
  ['is no call that still runs or waits for a human', [asked, step], [asked, step], []],
  ['is a step whose process died before it was stored', [asked, step], [asked], [step]],
  [
    'is that step also when the next process went on',
    [asked, step, again, found, answer],
    [asked, again, found, answer],
    [step],
  ],
  ['is that step also after a compaction', [asked, step, again, found, answer], [answer], [step]],
  [
    'is a result of a call that was closed as interrupted',
    [asked, one, before, closed],
    [asked, one, closed],
    [before],
  ],
  ['is no message that somebody said, nor an answer', [asked, answer], [], []],
])('what was logged and never stored %s', async (_, logged, context, lost) => {
  const { agent, kept } = open(scratch());
  await agent.log(session).append(logged);
  await agent.updateState(session, (state) => void state.contextMutable().push(...context));
  const read = (await kept.read(agent, session)).flatMap((event) =>
    event.type === 'message.added' ? [event.message.id] : [],
  );
  expect(read).toEqual(logged.filter((message) => !lost.includes(message)).map(({ id }) => id));
});
