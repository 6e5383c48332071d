import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import {
  type ClientContext,
  client,
  methods,
  ndJsonStream,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
  type Stream,
} from '@agentclientprotocol/sdk';
import { defineTool, InMemorySession, type Model, ModelError } from '@x/core';
import { strangersIn } from '@x/core/internal';
import { HarnessAgent, permissions, subagents, todoList, workspaceTools } from '@x/harness';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { acpAgent, mcpServersOf } from '../../src/acp/acp-agent.js';
import { blocksOf } from '../../src/acp/updates.js';
import { fakeEndpoint } from '../run/fake-endpoint.js';
import { main } from '../support/run-command.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'x-acp-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }));

type Answer = (
  request: RequestPermissionRequest,
) => RequestPermissionResponse | Promise<RequestPermissionResponse>;
const select =
  (optionId: string): Answer =>
  () => ({ outcome: { outcome: 'selected', optionId } });

/** What an editor does over a stream, with all that it was told. */
async function edit<Value>(
  stream: Stream,
  work: (
    agent: ClientContext,
    updates: SessionUpdate[],
    asked: readonly RequestPermissionRequest[],
  ) => Promise<Value>,
  answer: Answer = select('allow'),
) {
  const updates: SessionUpdate[] = [];
  const asked: RequestPermissionRequest[] = [];
  const value = await client({ name: 'editor' })
    .onNotification(methods.client.session.update, ({ params }) => void updates.push(params.update))
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      asked.push(params);
      return answer(params);
    })
    .connectWith(stream, (agent) => work(agent, updates, asked));
  return { value, updates, asked };
}

const store = () => new InMemorySession();

/** An agent of these answers at the other end of a pipe. */
function piped(model: Model, session = store(), worker?: Model): Stream {
  const [there, back] = [new TransformStream(), new TransformStream()];
  const agent = HarnessAgent.builder()
    .model(model)
    .workspace(directory)
    .session(session)
    .settings({ isolation: 'shared', maxIterations: 6 })
    .use(permissions(), todoList(), workspaceTools())
    .use(subagents(worker ? [{ name: 'worker', description: 'Works', model: worker }] : []))
    .tools(
      defineTool({
        name: 'hang',
        description: 'Waits',
        input: z.object({}),
        readOnly: true,
        execute: (_, { signal }) =>
          new Promise<string>((_resolve, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason)),
          ),
      }),
    )
    .build();
  acpAgent(async () => agent, { name: 'x', version: '1' }).connect(
    ndJsonStream(back.writable, there.readable),
  );
  return ndJsonStream(there.writable, back.readable);
}

const begin = async (agent: ClientContext) => {
  await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd: directory, mcpServers: [] });
  return sessionId;
};
const prompt = (agent: ClientContext, sessionId: string, text = 'Go') =>
  agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] });
const turn = async (agent: ClientContext) => prompt(agent, await begin(agent));
const textIn = (updates: readonly SessionUpdate[], kind: SessionUpdate['sessionUpdate']) =>
  updates
    .flatMap((update) =>
      update.sessionUpdate === kind && 'content' in update && update.content && 'text' in update.content
        ? [update.content.text]
        : [],
    )
    .join('');

const write: ScriptEntry = {
  toolCalls: [{ id: 'c-1', name: 'write_file', input: { path: 'note.txt', content: 'Hi' } }],
};

describe('an agent in an editor', () => {
  it('says what it can, answers, and ends its turn', async () => {
    const { value, updates } = await edit(piped(new ScriptedModel([{ text: 'Bern.' }])), async (agent) => {
      const said = await agent.request(methods.agent.initialize, {
        protocolVersion: 1,
        clientCapabilities: {},
      });
      expect(said).toMatchObject({ protocolVersion: 1, agentCapabilities: { loadSession: true } });
      return turn(agent);
    });
    expect(value.stopReason).toBe('end_turn');
    expect(textIn(updates, 'agent_message_chunk')).toBe('Bern.');
  });

  it('asks before it changes something, and shows the call with its file', async () => {
    const { value, updates, asked } = await edit(piped(new ScriptedModel([write, { text: 'Done.' }])), turn);
    expect(value.stopReason).toBe('end_turn');
    expect(asked[0]?.options.map(({ kind }) => kind)).toEqual(['allow_once', 'allow_always', 'reject_once']);
    expect(asked[0]?.toolCall).toMatchObject({
      toolCallId: 'c-1',
      kind: 'edit',
      locations: [{ path: join(directory, 'note.txt') }],
    });
    expect(existsSync(join(directory, 'note.txt'))).toBe(true);
    const of = updates.filter((update) => 'toolCallId' in update && update.toolCallId === 'c-1');
    expect(of.at(-1)).toMatchObject({ sessionUpdate: 'tool_call_update', status: 'completed' });
  });

  it('shows the call of a subagent, and closes it with the decision', async () => {
    const spawn: ScriptEntry = {
      toolCalls: [{ id: 'c-1', name: 'agent_spawn', input: { agent: 'worker', task: 'Write' } }],
    };
    const parent = new ScriptedModel([spawn, { text: 'Done.' }]);
    const worker = new ScriptedModel([write, { text: 'Written.' }]);
    const { updates, asked } = await edit(piped(parent, store(), worker), turn);
    const { toolCallId } = asked[0]?.toolCall ?? {};
    expect(toolCallId).not.toBe('c-1');
    expect(existsSync(join(directory, 'note.txt'))).toBe(true);
    const of = updates.filter((update) => 'toolCallId' in update && update.toolCallId === toolCallId);
    expect(of).toMatchObject([{ sessionUpdate: 'tool_call_update', status: 'completed' }]);
  });

  it('asks once where the editor allows always, and changes nothing where it rejects or cancels', async () => {
    const again: ScriptEntry = {
      toolCalls: [{ name: 'write_file', input: { path: 'note.txt', content: 'Ho' } }],
    };
    const always = await edit(
      piped(new ScriptedModel([write, again, { text: 'Done.' }])),
      turn,
      select('always'),
    );
    expect(always.asked).toHaveLength(1);
    rmSync(join(directory, 'note.txt'));

    const rejected = await edit(
      piped(new ScriptedModel([write, { text: 'Then not.' }])),
      turn,
      select('reject'),
    );
    expect(rejected.value.stopReason).toBe('end_turn');
    await edit(piped(new ScriptedModel([write, { text: 'Then not.' }])), turn, select('reject_always'));
    expect(existsSync(join(directory, 'note.txt'))).toBe(false);
    const cancel: Answer = () => ({ outcome: { outcome: 'cancelled' } });
    const cancelled = await edit(piped(new ScriptedModel([write])), turn, cancel);
    expect(cancelled.value.stopReason).toBe('cancelled');
    expect(existsSync(join(directory, 'note.txt'))).toBe(false);
  });

  it('stops when the editor cancels, and goes on with the next prompt', async () => {
    const model = new ScriptedModel([{ toolCalls: [{ name: 'hang', input: {} }] }, { text: 'Here again.' }]);
    const { value } = await edit(piped(model), async (agent, updates) => {
      const sessionId = await begin(agent);
      const stopped = prompt(agent, sessionId);
      await until(() => updates.some(({ sessionUpdate }) => sessionUpdate === 'tool_call'));
      await agent.notify(methods.agent.session.cancel, { sessionId });
      return [await stopped, await prompt(agent, sessionId)].map(({ stopReason }) => stopReason);
    });
    expect(value).toEqual(['cancelled', 'end_turn']);
  });

  const load = (agent: ClientContext, sessionId: string) =>
    agent.request(methods.agent.session.load, { sessionId, cwd: directory, mcpServers: [] });
  const nothing = async () => {};

  it.each<[string, typeof load | typeof nothing, typeof prompt | typeof nothing]>([
    ['at once', nothing, nothing],
    ['before the next prompt', nothing, prompt],
    ['where it was loaded meanwhile', load, prompt],
  ])(
    'ends a cancelled turn that waits for an answer %s, and a late one allows nothing',
    async (_, before, after) => {
      let answer = (_: RequestPermissionResponse) => {};
      const late = new Promise<RequestPermissionResponse>((resolve) => {
        answer = resolve;
      });
      const { value, updates } = await edit(
        piped(new ScriptedModel([write, { text: 'Here again.' }])),
        async (agent, _updates, asked) => {
          const sessionId = await begin(agent);
          const cancelled = prompt(agent, sessionId);
          await until(() => asked.length === 1);
          await before(agent, sessionId);
          await agent.notify(methods.agent.session.cancel, { sessionId });
          const { stopReason } = await cancelled;
          await after(agent, sessionId);
          answer({ outcome: { outcome: 'selected', optionId: 'allow' } });
          // The answer is read before what is asked after it.
          await begin(agent);
          return stopReason;
        },
        () => late,
      );
      expect(value).toBe('cancelled');
      const last = updates.findLast((update) => 'toolCallId' in update && update.toolCallId === 'c-1');
      expect(last).toMatchObject({ status: 'failed' });
      expect(existsSync(join(directory, 'note.txt'))).toBe(false);
    },
  );

  it('shows todos as a plan', async () => {
    const todos = [{ content: 'Look around', status: 'in_progress' }];
    const model = new ScriptedModel([
      { toolCalls: [{ name: 'todo_write', input: { todos } }] },
      { text: 'Ok.' },
    ]);
    const { updates } = await edit(piped(model), turn);
    expect(updates.filter(({ sessionUpdate }) => sessionUpdate === 'plan')).toEqual([
      { sessionUpdate: 'plan', entries: [{ ...todos[0], priority: 'medium' }] },
    ]);
  });

  it.each([
    [{ text: 'Half', finishReason: 'length' }, 'max_tokens'],
    [{ text: '', finishReason: 'content-filter' }, 'refusal'],
  ] as const)('ends %j with %s', async (answer, stopReason) => {
    const { value } = await edit(piped(new ScriptedModel([answer])), turn);
    expect(value).toEqual({ stopReason });
  });

  it('ends a turn of too many steps with max_turn_requests', async () => {
    const look: ScriptEntry = { toolCalls: [{ name: 'list_files', input: { path: '.' } }] };
    const { value } = await edit(piped(new ScriptedModel(Array.from({ length: 6 }, () => look))), turn);
    expect(value.stopReason).toBe('max_turn_requests');
  });

  it('loads a session with all that was said and done, and refuses one that there is not', async () => {
    const session = store();
    let sessionId = '';
    const first = await edit(piped(new ScriptedModel([write, { text: 'Done.' }]), session), async (agent) => {
      sessionId = await begin(agent);
      return prompt(agent, sessionId, 'Write it down');
    });
    expect(first.value.stopReason).toBe('end_turn');
    const load = { cwd: directory, mcpServers: [] };
    const { updates } = await edit(piped(new ScriptedModel([]), session), async (agent) => {
      await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
      await agent.request(methods.agent.session.load, { ...load, sessionId });
      await expect(
        agent.request(methods.agent.session.load, { ...load, sessionId: 'none' }),
      ).rejects.toThrow();
    });
    expect(textIn(updates, 'user_message_chunk')).toBe('Write it down');
    expect(textIn(updates, 'agent_message_chunk')).toBe('Done.');
    const of = updates.flatMap((update) => ('toolCallId' in update ? [update.status] : []));
    expect(of).toEqual(['pending', 'completed']);
  });

  it('closes the card of a call that a prompt supersedes after a load', async () => {
    const session = store();
    let sessionId = '';
    const broken: Answer = () => {
      throw new Error('the dialog broke');
    };
    const first = edit(
      piped(new ScriptedModel([write]), session),
      async (agent) => {
        sessionId = await begin(agent);
        return prompt(agent, sessionId, 'Write it down');
      },
      broken,
    );
    await expect(first).rejects.toThrow();
    const { updates, asked } = await edit(
      piped(new ScriptedModel([{ text: 'Fine.' }]), session),
      async (agent) => {
        await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
        await agent.request(methods.agent.session.load, { cwd: directory, mcpServers: [], sessionId });
        await prompt(agent, sessionId, 'Never mind');
      },
    );
    const of = updates.flatMap((update) => ('toolCallId' in update ? [update.status] : []));
    expect(of).toEqual(['pending', 'failed']);
    expect(asked).toEqual([]);
  });

  it('says why an answer takes longer while a server is overloaded', async () => {
    const busy = { error: new ModelError('Overloaded', { retryable: true, retryAfterMs: 1 }) };
    const model = new ScriptedModel([busy, { text: 'Here.' }]);
    const { updates } = await edit(piped(model), turn);
    expect(textIn(updates, 'agent_thought_chunk')).toContain(
      '[The model is not available at the moment. The call is being retried.]\n[Trying again in 1 s.]',
    );
    expect(textIn(updates, 'agent_message_chunk')).toBe('Here.');
  });

  it('loads the images and sounds of a session', async () => {
    const session = store();
    const shown = [
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'audio', data: 'BBBB', mimeType: 'audio/wav' },
    ] as const;
    let sessionId = '';
    await edit(piped(new ScriptedModel([{ text: 'Seen.' }]), session), async (agent) => {
      sessionId = await begin(agent);
      return agent.request(methods.agent.session.prompt, { sessionId, prompt: [...shown] });
    });
    const { updates } = await edit(piped(new ScriptedModel([]), session), async (agent) => {
      await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
      await agent.request(methods.agent.session.load, { cwd: directory, mcpServers: [], sessionId });
    });
    const said = updates.filter(({ sessionUpdate }) => sessionUpdate === 'user_message_chunk');
    expect(said).toMatchObject(shown.map((content) => ({ content })));
  });

  it('names attached files to the model by their paths in the project', async () => {
    const model = new ScriptedModel([{ text: 'Seen.' }]);
    await edit(piped(model), async (agent) => {
      const sessionId = await begin(agent);
      const uri = `file://${directory}/src/a.ts`;
      return agent.request(methods.agent.session.prompt, {
        sessionId,
        prompt: [
          { type: 'text', text: 'Look at ' },
          { type: 'resource_link', name: 'a.ts', uri },
          { type: 'resource', resource: { uri, text: 'let a = 1;', mimeType: 'text/typescript' } },
        ],
      });
    });
    const asked = JSON.stringify(model.requests[0]?.messages);
    expect(asked).toContain('[a.ts](src/a.ts)');
    expect(asked).toContain('src/a.ts:\\nlet a = 1;');
    // What a file asks the agent to remember or to approve is not a wish of the user.
    expect(strangersIn(model.requests[0]?.messages ?? [])).toEqual(['attached files']);
  });
});

it('hands the editor’s MCP servers on as they are, what looks like a variable too', () => {
  const env = [{ name: 'KEY', value: '${HOME}' }];
  expect(mcpServersOf([{ name: 'my server', command: 'npx', args: ['-y', 'x'], env }])).toEqual([
    ['my_server', { command: 'npx', args: ['-y', 'x'], env: { KEY: '$${HOME}' }, required: false }],
  ]);
  const names = ['GitHub (work)', 'my server!', 'a  b', 'x__y', 'context7 ', '日本', 'файлы'];
  const servers = names.map((name) => ({ name, command: 'npx', args: [], env: [] }));
  expect(mcpServersOf(servers).map(([name]) => name)).toEqual([
    ...['GitHub_work', 'my_server', 'a_b', 'x_y', 'context7', 'server_6', 'server_7'],
  ]);
  expect(() => mcpServersOf([{ type: 'sse', name: 'old', url: 'https://a.b', headers: [] }])).toThrow('sse');
});

it.each([
  ['file:///p/src/a.ts', 'src/a.ts'],
  ['file:///p/100%25%20done/a%23b.ts', '100% done/a#b.ts'],
  ['file:///p/%C3%A4.ts#L3', 'ä.ts#L3'],
  ['file:///p/%ZZ.ts', 'file:///p/%ZZ.ts'],
  ['file:///p/a%2Fb.ts', 'file:///p/a%2Fb.ts'],
  ['file:///p/../q/a.ts', 'file:///p/../q/a.ts'],
  ['https://a.b/%E0', 'https://a.b/%E0'],
  ['no address', 'no address'],
])('names %s to the model as %s', (uri, named) => {
  expect(blocksOf([{ type: 'resource_link', name: 'it', uri }], '/p')).toEqual([
    { type: 'text', text: `[it](${named})` },
  ]);
});

it('x acp speaks the protocol alone on standard output, works in the project, names failures, and ends with its input', async () => {
  const endpoint = await fakeEndpoint([
    { call: 'write_file', input: { path: 'note.txt', content: 'Hi' } },
    { text: 'Done.' },
    { status: 401 },
  ]);
  const file = join(directory, 'agent.yaml');
  const project = mkdtempSync(join(tmpdir(), 'x-acp-project-'));
  writeFileSync(file, 'model: compatible:fake\ncapabilities: [workspace_tools]\n');
  const env = { ...process.env, OPENAI_BASE_URL: endpoint.url, OPENAI_API_KEY: 'key' };
  const child = spawn(process.execPath, [main, 'acp', file], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.on('close', resolve));
  const stream = ndJsonStream(
    Writable.toWeb(child.stdin),
    Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
  );
  const { value } = await edit(stream, async (agent) => {
    await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
    const { sessionId } = await agent.request(methods.agent.session.new, { cwd: project, mcpServers: [] });
    const done = await prompt(agent, sessionId);
    await expect(prompt(agent, sessionId)).rejects.toThrow('failed with 401');
    return done;
  });
  expect(value.stopReason).toBe('end_turn');
  expect(existsSync(join(project, 'note.txt'))).toBe(true);
  child.stdin.end();
  expect(await ended).toBe(0);
  await endpoint.close();
  rmSync(project, { recursive: true, force: true, maxRetries: 20 });
});

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}
