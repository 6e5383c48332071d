import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { main, runCommand } from '../support/run-command.js';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const clean of cleanups.splice(0)) clean();
});

it('stores what it did when the reader of its answer goes away', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'x-pipe-'));
  cleanups.push(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }));
  const server = createServer((request, answer) => {
    request.resume();
    const choices = [{ index: 0, delta: { content: 'First. ' }, finish_reason: 'stop' }];
    const chunk = { id: 'a', object: 'chat.completion.chunk', created: 1, model: 'fake', choices };
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    answer.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
  });
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const file = join(directory, 'agent.yaml');
  writeFileSync(file, 'model: compatible:fake\nworkspace: ./files\n');

  const child = spawn(process.execPath, [main, 'run', file, '--session', 's-1', '--prompt', 'Tell me'], {
    env: { ...process.env, OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  child.stdout.destroy();
  const [status] = await once(child, 'exit');

  // The pipe is found to be broken before or after the agent is closed.
  expect([0, 143]).toContain(status);
  const shown = await runCommand([
    'sessions',
    'show',
    's-1',
    '--agent',
    'agent',
    '--workspace',
    join(directory, 'files'),
    '--json',
  ]);
  expect(shown.stdout).toContain('Tell me');
  expect(shown.stdout).toContain('First. ');
});
