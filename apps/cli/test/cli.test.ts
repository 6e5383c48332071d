import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AgentState, assistantMessage, openSession, SessionKey, storageOf, userMessage } from '@x/core';
import { LocalWorkspace, WorkspaceSessionLog } from '@x/core/node';
import { MysqlSession } from '@x/session-mysql';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { ageOf } from '../src/age.js';
import { installed, openStore } from '../src/open-store.js';
import { runCommand, x } from './support/run-command.js';

let directory: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'x-cli-'));
  const workspace = storageOf(new LocalWorkspace(directory));
  const { store, close } = await openStore({ workspace: directory }, { readOnly: false, createTables: true });
  for (const [userId, sessionId] of [
    ['alice', 's-1'],
    ['bob', 's-2'],
  ] as const) {
    const key = SessionKey.of({ userId, agentId: 'coder', sessionId });
    const session = await openSession(store, key);
    session.state
      .contextMutable()
      .push(
        userMessage(`Hello from ${userId}`),
        assistantMessage([{ type: 'tool_use', id: '1', name: 'read_file', input: { path: 'a.ts' } }]),
      );
    await new WorkspaceSessionLog(workspace, key).append(session.state.context);
    await session.commit();
  }
  await close();
});
afterAll(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }));

describe('x', () => {
  it('lists sessions, also by owner', async () => {
    const all = (await x(['sessions', '-w', directory])).stdout.trim().split('\n');
    expect(all).toHaveLength(2);
    const json = await x(['sessions', '-w', directory, '--user', 'alice', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({
      userId: 'alice',
      agentId: 'coder',
      sessionId: 's-1',
      version: 1,
    });
  });

  it.each([
    [-5_000, 'just now'],
    [59_999, 'just now'],
    [60_000, '1 min ago'],
    [3 * 3_600_000 + 1, '3 h ago'],
    [48 * 3_600_000, '2 d ago'],
  ])('tells of a session that was used %d ms ago: %s', (passed, age) => {
    const used = '2026-05-01T12:00:00.000Z';
    expect(ageOf(used, Date.parse(used) + passed)).toBe(age);
  });

  it('knows a session by its id alone, or by how it begins, where only one is meant', async () => {
    const whole = await x(['sessions', 'show', 's-1', '-w', directory, '-u', 'alice', '-a', 'coder']);
    expect(whole.stdout).toContain('Hello from alice');
    expect(await x(['sessions', 'show', 's-1', '-w', directory])).toEqual(whole);
    expect(await x(['sessions', 'show', 's-', '-w', directory, '-u', 'alice'])).toEqual(whole);
    const { stdout } = await x(['sessions', 'export', 's-1', '-w', directory]);
    expect(JSON.parse(stdout.split('\n')[0] ?? '')).toMatchObject({
      key: { userId: 'alice', agentId: 'coder' },
    });
    expect((await x(['sessions', 'delete', 's-', '-w', directory, '-u', 'alice'])).stderr).toContain(
      's-1  (alice / coder) and its log permanently. To confirm: x sessions delete s-1 --user alice --agent coder --workspace ',
    );
    for (const id of ['s-', 's-1']) {
      const { stderr, status } = await x(['sessions', 'delete', id, '-w', directory, '--yes']);
      expect({ stderr, status }).toMatchObject({
        stderr: expect.stringContaining(
          id === 's-'
            ? 'matches'
            : '--yes requires the complete id and its owner. This deletes session s-1  (alice / coder)',
        ),
        status: 2,
      });
    }
    expect(await x(['sessions', 'show', 's-1', '-w', directory])).toEqual(whole);
  });

  it('says how to delete what was found where it was found, and no other', async () => {
    const copy = join(directory, 'copy.db');
    const where = ['-w', directory];
    expect(await x(['sessions', 'copy', '--to', copy, ...where])).toMatchObject({ status: 0 });
    const elsewhere = mkdtempSync(join(directory, 'elsewhere-'));
    const { stderr } = await x(['sessions', 'delete', 's-1', '--sqlite', copy, '-w', elsewhere]);
    const [, words = ''] = /To confirm: x (.* --yes)/.exec(stderr) ?? [];
    expect(await x(words.split(' '))).toMatchObject({ status: 0, stderr: '' });
    expect((await x(['sessions', '--sqlite', copy])).stdout.trim().split('\n')).toHaveLength(1);
    expect((await x(['sessions', ...where])).stdout.trim().split('\n')).toHaveLength(2);
  });

  it('does the same under its longer name', async () => {
    const list = ['-w', directory, '--json'];
    expect(await x(['sessions', 'list', ...list])).toEqual(await x(['sessions', ...list]));
    const owner = ['-w', directory, '-u', 'alice', '-a', 'coder'];
    expect(await x(['sessions', 'show', 's-1', ...owner])).toEqual(
      await x(['sessions', 'show', 's-1', ...owner]),
    );
  });

  it('exports the state, and the log behind it, as JSON lines', async () => {
    const { stdout } = await x(['sessions', 'export', 's-1', '-w', directory, '-u', 'alice', '-a', 'coder']);
    const [first, ...rest] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(first).toMatchObject({ type: 'state', version: 1, key: { userId: 'alice', sessionId: 's-1' } });
    const state = AgentState.fromJSON(first.state);
    expect(state.context).toHaveLength(2);
    expect(rest.map(({ type, message }) => [type, message])).toEqual(
      state.context.map((message) => ['log', message]),
    );
  });

  it('deletes a session and its log only when it is sure, and no other', async () => {
    const workspace = storageOf(new LocalWorkspace(directory));
    const key = SessionKey.of({ userId: 'carol', sessionId: 's-3' });
    const { store, close } = await openStore(
      { workspace: directory },
      { readOnly: false, createTables: true },
    );
    const session = await openSession(store, key);
    session.state.contextMutable().push(userMessage('Hello'));
    const log = new WorkspaceSessionLog(workspace, key);
    await log.append(session.state.context);
    await session.commit();

    const owner = ['-w', directory, '--user', 'carol'];
    expect(await x(['sessions', 'delete', 's-3', ...owner])).toMatchObject({ status: 2, stdout: '' });
    expect(await store.load(key)).toBeDefined();
    expect(await x(['sessions', 'delete', 's-3', ...owner, '--yes'])).toMatchObject({
      status: 0,
      stderr: '',
    });
    expect(await store.load(key)).toBeUndefined();
    await close();
    expect(await workspace.stat(log.location)).toBeUndefined();
    expect(await x(['sessions', 'delete', 's-3', ...owner, '--yes'])).toMatchObject({ status: 2 });
    expect((await x(['sessions', '-w', directory])).stdout.trim().split('\n')).toHaveLength(2);
  });

  it.each(['redis', 'mysql'] as const)('lists, exports and deletes sessions in %s', async (kind) => {
    const sessionId = `cli-${randomUUID()}`;
    const key = SessionKey.of({ userId: 'alice', sessionId });
    const url = inject(kind === 'redis' ? 'redisUrl' : 'mysqlUrl');
    const { store, close } = await openStore({ workspace: directory, [kind]: url }, { readOnly: false });
    if (store instanceof MysqlSession) await store.createTables();
    const session = await openSession(store, key);
    session.state.contextMutable().push(userMessage('Hello'));
    await session.commit();

    const where = [`--${kind}`, url, '--user', 'alice', '-w', directory];
    expect((await x(['sessions', 'list', ...where])).stdout).toContain(sessionId);
    const [line = ''] = (await x(['sessions', 'export', sessionId, ...where])).stdout.split('\n');
    expect(AgentState.fromJSON(JSON.parse(line).state).context).toEqual(session.state.context);
    expect(await x(['sessions', 'delete', sessionId, '--yes', ...where])).toMatchObject({
      status: 0,
      stderr: '',
    });
    expect(await store.load(key)).toBeUndefined();
    await close();
  });

  it('says which packages a store needs', async () => {
    const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
    await expect(installed('ioredis', () => Promise.reject(missing))).rejects.toThrow('npm install ioredis');
  });

  it('shows a log, whole or its end', async () => {
    const owner = ['-w', directory, '-u', 'alice', '-a', 'coder'];
    const { stdout } = await x(['sessions', 'show', 's-1', ...owner]);
    expect(stdout).toContain('Hello from alice');
    expect(stdout).toContain('→ read_file {"path":"a.ts"}');
    expect((await x(['sessions', 'show', 's-1', ...owner, '--last', '1'])).stdout).not.toContain('Hello');
  });

  it.each([
    [['sessions', '--help'], /^Usage: x sessions .*x sessions list .*x sessions show .*x sessions delete /s],
    [
      ['sessions', 'list', '--help'],
      /^Usage: x sessions list \[options\]\n\nLists sessions.*--table NAME .*with --mysql or/s,
    ],
    [['sessions', 'show', 's-1', '-h'], /^Usage: x sessions show SESSION .*Prints.*--redis URL +Sessions/s],
    [['sessions', 'delete', '--help'], /^Usage: x sessions delete SESSION --yes \[options\]/],
    [['run', '--help'], /^Usage: x run \[agent.yaml\] .*-p, --prompt TEXT +Answer/s],
    [['replay', '--nonsense', '--help'], /^Usage: x replay \[FILE…\] .*Default: half/s],
    [['schema', '--help'], /^Usage: x schema\n/],
    [['--help'], /^Usage: x COMMAND .* run .* doctor /s],
    [['help', 'help'], /^Usage: x COMMAND /],
    [['--version'], /^\d+\.\d+\.\d+\n$/],
  ])('says how it is used: x %j', async (args, usage) => {
    const { status, stdout, stderr } = await x(args);
    expect(stdout).toMatch(usage);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it.each(['run', 'sessions', 'sessions list', 'users erase'])(
    'says of %s the same when asked the other way round',
    async (words) => {
      const command = words.split(' ');
      expect(await x(['help', ...command])).toEqual(await x([...command, '--help']));
    },
  );

  it('is a program with an exit code', async () => {
    expect(await runCommand(['--version'])).toEqual(await x(['--version']));
    expect(await runCommand(['frob'])).toEqual(await x(['frob']));
  });

  it('keeps its help within 80 columns, with a line for each option', async () => {
    const { stdout } = await x(['replay', '--help']);
    const options = stdout.split('Options:\n')[1]?.split('\n\n')[0] ?? '';
    expect(options).toMatch(/--html FILE +Writes a page/);
    expect(Math.max(...options.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it('says what a run needs, and what of it is missing', async () => {
    const env = { ...process.env, OPENAI_API_KEY: 'sk-hidden', ANTHROPIC_API_KEY: '', OPENAI_BASE_URL: '' };
    const file = join(directory, 'doctor.yaml');
    writeFileSync(file, `model: openai:gpt-5\nworkspace: ${directory}\ncapabilities: [compaction]\n`);
    const well = await runCommand(['doctor', file, '--sqlite', join(directory, 'none.db')], { env });
    expect(well.status).toBe(1);
    expect(well.stdout).toMatch(
      /^ok +Node .*\nok +OPENAI_API_KEY set\nok .*"agent" with compaction\nNOT OK .*no file/s,
    );
    expect(well.stdout).not.toContain('sk-hidden');
    for (const [address, told] of [
      ['127.0.0.1:9/v1', 'must begin with http:// or https://'],
      ['http://127.0.0.1:9/v1', 'does not answer ('],
    ] as const) {
      const { status, stdout } = await runCommand(['doctor', file], {
        env: { ...env, OPENAI_BASE_URL: address },
      });
      expect(status).toBe(1);
      expect(stdout).toMatch(/^NOT OK +the server of OPENAI_BASE_URL: /m);
      expect(stdout).toContain(told);
    }
  });

  it.each([
    [{ OPENAI_API_KEY: 'right' }, /^ok +the server of OPENAI_BASE_URL answers$/m],
    [{ OPENAI_API_KEY: 'wrong' }, /^NOT OK .*: the key in OPENAI_API_KEY was refused \(401\)$/m],
    [{ OPENAI_API_KEY: '' }, /^NOT OK .*: set OPENAI_API_KEY \(401\)$/m],
  ])(
    'asks a server whether it accepts the key, and for the model of a first agent: %j',
    async (key, told) => {
      const models = [
        { id: 'my-embeddings' },
        { id: 'a "quoted" name' },
        { id: 'llama3:8b', max_model_len: 8_192 },
        { id: 'qwen3' },
      ];
      const server = createServer(({ url, headers }, response) => {
        const isAllowed = url === '/v1/models' && headers.authorization === 'Bearer right';
        response.writeHead(isAllowed ? 200 : 401).end(JSON.stringify(isAllowed ? { data: models } : {}));
      }).listen(0, '127.0.0.1');
      onTestFinished(() => void server.close());
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const cwd = mkdtempSync(join(directory, 'served-'));
      const url = `http://127.0.0.1:${port}/v1/`;
      const env = { ...process.env, ...key, ANTHROPIC_BASE_URL: '', OPENAI_MODEL: '', OPENAI_BASE_URL: url };
      const isRight = key.OPENAI_API_KEY === 'right';
      const { stdout } = await runCommand(['init'], { cwd, env });
      expect(stdout).toContain(
        isRight
          ? 'Model: llama3:8b (the first that your server lists: llama3:8b, qwen3). OPENAI_MODEL chooses another.\nContext window: 8192 tokens, as your server reports.\n'
          : 'Model: qwen3 (a guess, because your server lists no models). OPENAI_MODEL chooses another.\nContext window: 32768 tokens, a guess.',
      );
      const written = readFileSync(join(cwd, 'agent.yaml'), 'utf8');
      expect(written).toContain(
        isRight
          ? '{ id: "compatible:${OPENAI_MODEL:-llama3:8b}", context_window: 8192 }'
          : '{ id: "compatible:${OPENAI_MODEL:-qwen3}", context_window: 32768 }',
      );
      const checked = await runCommand(['doctor'], { cwd, env });
      expect(checked.stdout).toMatch(told);
      if (isRight) expect(checked.stdout).toMatch(/^ok +the server has the model llama3:8b$/m);
    },
  );

  it('writes a first agent by the key that is set, which then opens, and never writes over one', async () => {
    const folder = mkdtempSync(join(directory, 'init-'));
    const bare = { ...process.env, OPENAI_API_KEY: '', ANTHROPIC_API_KEY: '', OPENAI_BASE_URL: '' };
    const keyless = await runCommand(['init'], { cwd: folder, env: bare });
    expect(keyless).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^Wrote agent\.yaml\n/),
    });
    expect(keyless.stdout).toMatch(/export OPENAI_API_KEY=….*agent\.yaml.*x run/);
    const other = { ...bare, ANTHROPIC_API_KEY: 'key' };
    const kept = await runCommand(['init'], { cwd: folder, env: other });
    expect(kept.stdout).toMatch(/^Kept agent\.yaml\nNext: {2}x doctor/);
    expect((await runCommand(['run', '--prompt', 'Hi'], { cwd: folder, env: other })).stderr).toContain(
      '"openai:gpt-5" needs the environment variable OPENAI_API_KEY. With the variables that are set, use: anthropic:MODEL',
    );
    rmSync(join(folder, 'agent.yaml'));
    const env = { ...bare, OPENAI_BASE_URL: 'http://localhost:1/v1', OPENAI_API_KEY: 'key' };
    const again = await runCommand(['init'], { cwd: folder, env });
    expect(again.stdout).toMatch(
      /^Wrote agent\.yaml\nModel: qwen3 .*\nContext window: 32768 .*\nNext: {2}x run \(OPENAI_BASE_URL is set\)/,
    );
    expect((await runCommand(['doctor'], { cwd: folder, env })).stdout).toMatch(
      /^ok .*agent "coder" with .*shell/m,
    );
  });

  it.each<[() => readonly string[], string]>([
    [() => ['frob'], 'There is no command "frob".\n\nUsage'],
    [() => ['help', 'frob'], 'There is no command "frob".\n\nUsage'],
    [() => ['rnu'], 'There is no command "rnu"; did you mean run?\n'],
    [() => ['help', 'runn'], 'There is no command "runn"; did you mean run?\n'],
    [() => ['sesions', 'list'], 'There is no command "sesions"; did you mean sessions?\n'],
    [() => ['delete', 's-1'], 'There is no command "delete"; did you mean sessions delete?\n'],
    [() => ['users'], 'x users needs a command. x users --help lists them.\n'],
    [() => ['sessions', 'shwo'], 'There is no command "sessions shwo"; did you mean sessions show?\n'],
    [
      () => ['replay', '--window', '-5'],
      '--window needs a value. If the value begins with a dash, write --window=…',
    ],
    [() => ['run', '--model'], '--model needs a value'],
    [() => ['run', '--continue=yes'], '--continue does not accept a value.'],
    [() => ['replay', '--window', '64m'], '--window must be a whole number of at least 1, not "64m"'],
    [() => ['replay', '--windw', '5'], 'There is no option --windw; did you mean --window?\n'],
    [() => ['sessions', 'show', 's-', '-w', directory], '"s-" matches 2 sessions: s-'],
    [
      () => ['run', 'agent.yaml', 'Fix it'],
      'Unexpected argument "Fix it". To send it as a prompt: --prompt "Fix it"',
    ],
    [
      () => ['run', 'what is it?'],
      "There is no file what is it?. To send it as a prompt: x run --prompt 'what is it?'",
    ],
    [() => ['run', 'nope.yaml'], 'There is no file nope.yaml. x init writes a first agent.yaml.'],
    [() => ['sessions', 'show'], 'SESSION is missing.'],
    [() => ['sessions', '--frob'], 'Usage: x sessions'],
    [() => ['sessions', 'frob'], 'There is no command "sessions frob"'],
    [() => ['sessions', 'export', 'nobody', '-w', directory], 'There is no session'],
    [() => ['sessions', 'delete', 's-1', '-w', directory], '--yes'],
    [() => ['sessions', 'delete', 'nobody', '-w', directory], 'There is no session nobody. x sessions'],
    [() => ['sessions', '--redis', 'redis://x', '--mysql', 'mysql://x'], 'Use only one of them'],
    [() => ['sessions', '-w', join(directory, 'none')], 'There is no workspace'],
    [() => ['sessions', 'copy', '-w', directory], 'To copy your own: --to ADDRESS\n'],
    [() => ['sessions', 'show', 'nobody', '-w', directory], 'There is no session nobody. x sessions'],
    [() => ['sessions', 'show', 's-1', '--last', 'x'], '--last must be a whole number'],
  ])('says what is wrong, and exits with 2 (%#)', async (args, message) => {
    const { status, stderr } = await x(args());
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('    at ');
    expect(status).toBe(2);
  });
});
