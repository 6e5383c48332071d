import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toolResultEviction } from '@x/compaction';
import { RuntimeContext, textOf } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { HarnessAgent } from '../../src/index.js';
import { McpServerError, mcp } from '../../src/mcp/index.js';
import { blocksOf, resultsOf, until } from '../capabilities/subagents/support.js';
import { collect, isDead, scratch } from '../support.js';
import { agentWith, connect, lastingPort, run, startHttpServer, stdioServer, toolOf } from './support.js';

const names = (tools: readonly { readonly definition: { readonly name: string } }[] = []) =>
  tools.map(({ definition }) => definition.name);

describe('a server over stdio', () => {
  it.each([false, true])(
    'ends with all that it has started, also what heeds no signal: %s',
    async (stubborn) => {
      const capability = await mcp({ servers: { test: stdioServer } });
      const [answer] = await run(toolOf(capability, 'mcp__test__settle'), { stubborn });
      const pid = Number(answer?.type === 'text' && answer.text);
      expect(isDead(pid)).toBe(false);
      await capability.close?.();
      await until(() => isDead(pid));
    },
  );

  it('brings its tools, sorted, with names that providers take and what it says of them', async () => {
    const capability = await connect({ test: { ...stdioServer, trusted: true } });
    expect(names(capability.tools)).toEqual([
      'mcp__test__count',
      'mcp__test__delete_everything',
      'mcp__test__die',
      'mcp__test__echo',
      'mcp__test__environment',
      'mcp__test__fail',
      'mcp__test__grow',
      'mcp__test__hang',
      'mcp__test__huge',
      'mcp__test__picture',
      'mcp__test__secret',
      'mcp__test__settle',
    ]);
    expect(toolOf(capability, 'mcp__test__echo')).toMatchObject({ readOnly: true });
    expect(toolOf(capability, 'mcp__test__delete_everything')).toMatchObject({
      readOnly: false,
      destructive: true,
    });
    expect(toolOf(capability, 'mcp__test__count').readOnly).toBe(false);
    expect(await run(toolOf(capability, 'mcp__test__echo'), { text: 'hi' })).toEqual([
      { type: 'text', text: 'echo hi' },
    ]);
  });

  it('loses the tools without a name or a schema alone', async () => {
    const lines = `
      require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
        const { id, method, params } = JSON.parse(line);
        if (id === undefined) return;
        const inputSchema = { type: 'object' };
        const odd = [{ name: '', inputSchema }, { name: 'none' }, null, { inputSchema }, { name: 5, inputSchema }];
        const results = {
          initialize: { ...params, capabilities: { tools: {} }, serverInfo: { name: 'odd', version: '1' } },
          'tools/list': { tools: [{ name: 'fine', inputSchema }, ...odd] },
        };
        console.log(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }));
      });`;
    const { tools = [] } = await connect({ test: { command: process.execPath, args: ['-e', lines] } });
    expect(tools.map(({ definition }) => definition.name)).toEqual(['mcp__test__fine']);
  });

  it('believes a server that is not trusted only where that is stricter, and offers only what is asked for', async () => {
    const capability = await connect({
      test: { ...stdioServer, tools: ['echo', 'delete*'] },
    });
    expect(names(capability.tools)).toEqual(['mcp__test__delete_everything', 'mcp__test__echo']);
    expect(toolOf(capability, 'mcp__test__echo').readOnly).toBe(false);
    expect(toolOf(capability, 'mcp__test__delete_everything').destructive).toBe(true);
  });

  it('keeps what is no text, and bounds what is', async () => {
    const capability = await connect({ test: stdioServer }, { maxResultChars: 1_000 });
    const [text, image, resource] = await run(toolOf(capability, 'mcp__test__picture'), {});
    expect(text).toEqual({ type: 'text', text: 'A pixel:' });
    expect(image).toMatchObject({ type: 'file', mediaType: 'image/png', source: { type: 'base64' } });
    expect(resource).toEqual({ type: 'text', text: '[file:///a.txt]\ninside' });
    const [head, note] = await run(toolOf(capability, 'mcp__test__huge'), { chars: 5_000 });
    expect(textOf(head ? [head] : [])).toHaveLength(1_000);
    expect(textOf(note ? [note] : [])).toContain('4000 more characters were left out');
  });

  it('has its failures told to the model, and its call stopped', async () => {
    const capability = await connect({ test: stdioServer });
    await expect(run(toolOf(capability, 'mcp__test__fail'), {})).rejects.toThrow('it broke');
    const abort = new AbortController();
    const hanging = run(toolOf(capability, 'mcp__test__hang'), {}, abort.signal);
    abort.abort(new Error('stop'));
    await expect(hanging).rejects.toThrow('stop');
    expect(await run(toolOf(capability, 'mcp__test__echo'), { text: 'still here' })).toHaveLength(1);
  });

  it('has its silence told to the model, and is asked again for the next call', async () => {
    const capability = await connect({ test: stdioServer }, { callTimeoutMs: 300 });
    await expect(run(toolOf(capability, 'mcp__test__hang'), {})).rejects.toThrow(
      'did not answer hang within 300 ms',
    );
    const echo = () => run(toolOf(capability, 'mcp__test__echo'), { text: 'still here' });
    // On a busy machine an answer may take longer than that.
    await until(async () => (await echo().catch(() => [])).length === 1);
  });

  it('that dies in a call is begun anew for the next one, and the call is never repeated', async () => {
    const file = join(scratch(), 'calls');
    const capability = await connect({ test: stdioServer });
    const death = run(toolOf(capability, 'mcp__test__die'), { file });
    await expect(death).rejects.toMatchObject({ code: 'mcp_lost', server: 'test' });
    expect(readFileSync(file, 'utf8')).toBe('x');
    expect(await run(toolOf(capability, 'mcp__test__echo'), { text: 'back' })).toEqual([
      { type: 'text', text: 'echo back' },
    ]);
  });

  it('that keeps dying is left alone for longer and longer', async () => {
    let now = 0;
    const clock = { now: () => now, sleep: () => new Promise<void>(() => {}) };
    const server = { ...stdioServer };
    const capability = await connect(
      { test: server },
      { retryDelayMs: 1_000, maxRetryDelayMs: 4_000 },
      { clock },
    );
    const die = () => run(toolOf(capability, 'mcp__test__die'), {});
    await expect(die()).rejects.toMatchObject({ code: 'mcp_lost' });
    await expect(die()).rejects.toMatchObject({ code: 'mcp_lost' });
    await expect(die()).rejects.toThrow('next attempt is possible in 1 s');
    now += 1_000;
    await expect(die()).rejects.toMatchObject({ code: 'mcp_lost' });
    await expect(die()).rejects.toThrow('next attempt is possible in 2 s');
    now += 2_000;
    expect(await run(toolOf(capability, 'mcp__test__echo'), { text: 'x' })).toHaveLength(1);
    await expect(die()).rejects.toMatchObject({ code: 'mcp_lost' });
    expect(await run(toolOf(capability, 'mcp__test__echo'), { text: 'x' })).toHaveLength(1);
  });

  it('sees a minimal environment and what it is given, secrets by name', async () => {
    const environment = { MY_TOKEN: 'abc-secret-123', OTHER: 'not for it' };
    vi.stubEnv('X_TEST_LEAK', 'leak');
    onTestFinished(() => void vi.unstubAllEnvs());
    const capability = await connect(
      { test: { ...stdioServer, env: { TEST_TOKEN: '${MY_TOKEN}' } } },
      {},
      { environment },
    );
    expect(textOf([...(await run(toolOf(capability, 'mcp__test__secret'), {}))])).toBe(
      'token abc-secret-123',
    );
    const seen = textOf([...(await run(toolOf(capability, 'mcp__test__environment'), {}))]);
    expect(seen).toContain('TEST_TOKEN');
    expect(seen).not.toMatch(/OTHER|X_TEST_LEAK|MY_TOKEN/);
  });

  it('that cannot be begun fails with what it said, and without a secret', async () => {
    const config = {
      servers: { test: { ...stdioServer, env: { TEST_REFUSE: '1', TEST_TOKEN: '${MY_TOKEN}' } } },
    };
    const error: unknown = await mcp(config, { environment: { MY_TOKEN: 'abc-secret-123' } }).catch(
      (cause) => cause,
    );
    expect(McpServerError.isInstance(error)).toBe(true);
    expect(String(error)).toContain('cannot begin with token ${MY_TOKEN}');
    for (let cause = error; cause instanceof Error; cause = cause.cause)
      expect(cause.stack).not.toContain('abc-secret-123');
    await expect(mcp({ servers: { test: { command: '/nowhere/to/be/found' } } })).rejects.toThrow('ENOENT');
  });

  it('that is not required is reported, and its tools come once it can be reached', async () => {
    const directory = scratch();
    const flag = join(directory, 'ready.mjs');
    const capability = await connect(
      { test: { command: process.execPath, args: [flag], required: false } },
      { retryDelayMs: 0 },
    );
    expect(capability.tools).toEqual([]);
    const model = new ScriptedModel([{ when: /./, reply: { text: 'ok' }, times: Number.POSITIVE_INFINITY }]);
    const agent = HarnessAgent.builder().model(model).workspace(directory).use(capability).build();
    const events = await collect(agent.stream('a', RuntimeContext.of({ sessionId: 's' })));
    expect(events.some((event) => event.type === 'warning' && event.source === 'mcp')).toBe(true);
    writeFileSync(flag, `import ${JSON.stringify(stdioServer.args[0])};`);
    await until(async () => {
      await agent.call('b', RuntimeContext.of({ sessionId: 's' }));
      return (capability.tools ?? []).length > 0;
    });
    await agent.call('c', RuntimeContext.of({ sessionId: 's' }));
    expect(model.requests.at(-1)?.tools.map(({ name }) => name)).toContain('mcp__test__echo');
    await agent.close();
  });

  it('may change its tools: the next step has them', async () => {
    const capability = await connect({ test: stdioServer });
    const model = new ScriptedModel([
      { toolCalls: [{ name: 'mcp__test__grow', input: {} }] },
      { toolCalls: [{ name: 'mcp__test__another', input: {} }] },
      { text: 'ok' },
      { text: 'again' },
    ]);
    const agent = agentWith(model, capability);
    const context = RuntimeContext.of({ sessionId: 's' });
    await agent.call('go', context);
    const names = model.requests.map(({ tools }) => tools.map(({ name }) => name));
    expect(names.map((step) => step.includes('mcp__test__another'))).toEqual([false, true, true]);
    expect(names.map((step) => step.includes('mcp__test__grow'))).toEqual([true, false, false]);
    expect(JSON.stringify(model.requests[2]?.messages.at(-1))).toContain('I am new');
    // Nothing changed since: the prompt cache holds.
    await agent.call('and again', context);
    expect(model.requests[3]?.tools).toEqual(model.requests[2]?.tools);
    await agent.close();
  });
});

describe('a server over HTTP', () => {
  it('is sent the headers, answers, and is found again after a restart', async () => {
    const token = 'abc-secret-123';
    const port = await lastingPort();
    const server = await startHttpServer({ TEST_TOKEN: token }, port);
    const config = { url: server.url, headers: { Authorization: 'Bearer ${HTTP_TOKEN}' } };
    const capability = await connect(
      { web: config },
      { retryDelayMs: 0 },
      { environment: { HTTP_TOKEN: token } },
    );
    expect(textOf([...(await run(toolOf(capability, 'mcp__web__echo'), { text: 'hi' }))])).toBe('echo hi');
    await server.stop();
    await expect(run(toolOf(capability, 'mcp__web__echo'), { text: 'hi' })).rejects.toMatchObject({
      code: expect.stringMatching(/^mcp_(?:unavailable|lost)$/),
    });
    await startHttpServer({ TEST_TOKEN: token }, port);
    expect(textOf([...(await run(toolOf(capability, 'mcp__web__echo'), { text: 'again' }))])).toBe(
      'echo again',
    );
  });

  it('that forgot the session is met anew within the call', async () => {
    const port = await lastingPort();
    const server = await startHttpServer({}, port);
    const capability = await connect({ web: { url: server.url } });
    await server.stop();
    await startHttpServer({}, port);
    expect(textOf([...(await run(toolOf(capability, 'mcp__web__echo'), { text: 'hi' }))])).toBe('echo hi');
  });

  it('that refuses says so without the secret', async () => {
    const server = await startHttpServer({ TEST_TOKEN: 'the right one' });
    const config = {
      servers: { web: { url: server.url, headers: { Authorization: 'Bearer ${HTTP_TOKEN}' } } },
    };
    const error: unknown = await mcp(config, { environment: { HTTP_TOKEN: 'the-wrong-one' } }).catch(
      (cause) => cause,
    );
    expect(String(error)).toContain('${HTTP_TOKEN}');
    for (let cause = error; cause instanceof Error; cause = cause.cause)
      expect(cause.stack).not.toContain('the-wrong-one');
  });
});

it('shows no secret of an address as URLs have it', async () => {
  const environment = { MCP_PASS: 'p@ss wörd|9^x' };
  for (const url of [
    'https://me:${MCP_PASS}@mcp.example/',
    'ftp://mcp.example/${MCP_PASS}?q=${MCP_PASS}#${MCP_PASS}',
  ]) {
    const error = await mcp({ servers: { e: { url } } }, { environment }).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(Error);
    for (let cause = error; cause instanceof Error; cause = cause.cause)
      expect(decodeURIComponent(`${cause.message} ${cause.stack}`.replaceAll('+', ' '))).not.toMatch(
        /wörd|9\^x/,
      );
  }
});

describe('in an agent', () => {
  it('results are evicted like others, and a crash is told to the model as an error', async () => {
    const capability = await connect({ test: stdioServer });
    const model = new ScriptedModel([
      { toolCalls: [{ name: 'mcp__test__huge', input: { chars: 100_000 } }] },
      { toolCalls: [{ name: 'mcp__test__die', input: {} }] },
      { text: 'ok' },
    ]);
    const root = scratch();
    const agent = HarnessAgent.builder()
      .model(model)
      .workspace(root)
      .use(toolResultEviction({ maxResultChars: 80_000 }), capability)
      .build();
    await agent.call('go', RuntimeContext.of({ sessionId: 's' }));
    const [evicted = ''] = resultsOf(model.requests[1]?.messages ?? [], 'mcp__test__huge');
    expect(evicted.length).toBeLessThan(6_000);
    const path = /written to (\S+):/.exec(evicted)?.[1] ?? '';
    expect(existsSync(join(root, '.x', path))).toBe(true);
    const [death] = blocksOf(model.requests[2]?.messages ?? [], 'mcp__test__die');
    expect(death?.isError).toBe(true);
    expect(textOf(death ? [death] : [])).toContain('The call ran and may have taken effect');
    await agent.close();
  });
});
