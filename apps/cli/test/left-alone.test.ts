import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { type Answer, fakeEndpoint } from './run/fake-endpoint.js';
import { main, runCommand } from './support/run-command.js';

const LONG: Answer = { call: 'execute', input: { command: 'echo $$ > pid; exec sleep 600' } };
const FILE = `model: compatible:fake
capabilities: [{ ref: shell, config: { sandbox: none } }]
permissions: { mode: bypass }
`;

/** A folder with an agent that runs a long command. */
async function place(answers: readonly Answer[] = [LONG]) {
  const directory = mkdtempSync(join(tmpdir(), 'x-alone-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }));
  const endpoint = await fakeEndpoint(answers);
  onTestFinished(() => endpoint.close());
  writeFileSync(join(directory, 'agent.yaml'), FILE);
  const env = { ...process.env, OPENAI_BASE_URL: endpoint.url };
  const start = (args: readonly string[]) => {
    const child = spawn(process.execPath, [main, ...args, 'agent.yaml', '--trust'], { cwd: directory, env });
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  };
  const command = async () => {
    const file = join(directory, 'pid');
    await vi.waitFor(() => expect(existsSync(file) && readFileSync(file, 'utf8')).toContain('\n'), 20_000);
    return Number(readFileSync(file, 'utf8'));
  };
  return { directory, env, start, command };
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Sends the requests of an editor one after the other. The last one runs the command. */
function asEditor({ stdin, stdout }: ChildProcess, directory: string): void {
  const send = (id: number, method: string, params: object) =>
    stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
  const requests = [
    () => send(1, 'session/new', { cwd: directory, mcpServers: [] }),
    (sessionId: string) =>
      send(2, 'session/prompt', { sessionId, prompt: [{ type: 'text', text: 'Serve' }] }),
  ];
  let said = '';
  stdout?.on('data', (chunk) => {
    said += chunk;
    const lines = said.split('\n');
    said = lines.pop() ?? '';
    for (const line of lines) requests.shift()?.(JSON.parse(line).result?.sessionId);
  });
  send(0, 'initialize', { protocolVersion: 1, clientCapabilities: {} });
}

it.each([
  ['SIGHUP', 129],
  ['SIGTERM', 143],
  ['SIGINT', 130],
  ['end of input', 0],
] as const)('x acp ends at once with its command at %s', async (how, status) => {
  const { directory, start, command } = await place();
  const child = start(['acp']);
  asEditor(child, directory);
  const pid = await command();
  if (how === 'end of input') child.stdin.end();
  else child.kill(how);
  expect(await once(child, 'exit')).toEqual([status, null]);
  expect(isRunning(pid)).toBe(false);
});

it('x run ends at once with its command when the terminal is closed', async () => {
  const { directory, env, start, command } = await place();
  const child = start(['run', '--session', 's', '--prompt', 'Serve']);
  const pid = await command();
  child.kill('SIGHUP');
  expect(await once(child, 'exit')).toEqual([129, null]);
  expect(isRunning(pid)).toBe(false);
  const { stdout } = await runCommand(['sessions', 'show', 's'], { cwd: directory, env });
  expect(stdout).toContain('stopped by the agent');
});

/** Runs a command line in a terminal, and collects what it shows. */
function inTerminal(line: string, at: { readonly cwd: string; readonly env: NodeJS.ProcessEnv }) {
  const args =
    process.platform === 'darwin' ? ['-q', '/dev/null', 'sh', '-c', line] : ['-qfec', line, '/dev/null'];
  const child = spawn('script', args, at);
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stdout.on('data', (chunk) => {
    said += chunk;
  });
  const shows = (text: string, from = 0) =>
    vi.waitFor(() => expect(said.slice(from)).toContain(text), 20_000);
  return { child, shows, said: () => said };
}

const CHAT = `'${process.execPath}' '${main}' run agent.yaml --trust`;

it.each(['SIGINT', 'SIGHUP', 'SIGTERM'] as const)(
  'a chat ends with its command, and without bracketed paste, at repeated %s',
  async (signal) => {
    const { directory, env, command } = await place();
    const { child, shows, said } = inTerminal(`echo $$ > chat; exec ${CHAT}`, { cwd: directory, env });
    await shows('> ');
    child.stdin.write('Serve\r');
    const pid = await command();
    const chat = Number(readFileSync(join(directory, 'chat'), 'utf8'));
    const closed = once(child, 'close');
    // Two signals at once arrive as one.
    const repeat = setInterval(() => isRunning(chat) && process.kill(chat, signal), 200);
    await closed;
    clearInterval(repeat);
    // Its new parent, the first process, collects it.
    await vi.waitFor(() => expect(isRunning(pid)).toBe(false), 20_000);
    expect(said()).toContain('\u001B[?2004l');
  },
);

it('a chat goes on in the foreground after Ctrl-Z', async () => {
  const { directory, env } = await place([{ text: 'The answer.' }]);
  const { child, shows, said } = inTerminal('bash --norc --noediting -i', { cwd: directory, env });
  child.stdin.write(`${CHAT}\n`);
  await shows('commands');
  child.stdin.write('\u001A');
  await shows('Stopped');
  const [before = ''] = said().split('Stopped');
  expect(before.lastIndexOf('\u001B[?2004l')).toBeGreaterThan(before.lastIndexOf('\u001B[?2004h'));
  child.stdin.write('fg\n');
  await shows('\u001B[?2004h', before.length);
  child.stdin.write('Hi\r');
  await shows('answer.', before.length);
});

it('x run answers although nobody reads its progress', async () => {
  const { start } = await place([{ text: 'The answer.' }]);
  const child = start(['run', '--prompt', 'Hi']);
  child.stderr.destroy();
  let said = '';
  child.stdout.on('data', (chunk) => {
    said += chunk;
  });
  expect(await once(child, 'close')).toEqual([0, null]);
  expect(said).toBe('The answer.\n');
});
