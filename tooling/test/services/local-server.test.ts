import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startLocalServer } from '../../services/local-server.js';
import { untilReady } from '../../services/until-ready.js';

// Listens on the port it is given and answers with its data directory.
const program = `
  const [directory, port] = process.argv.slice(1);
  require('node:http').createServer((_, response) => response.end(directory)).listen(port, '127.0.0.1');
`;

const directoryOf = async (url: string) => (await fetch(url)).text();

const server = {
  name: 'echo',
  commands: (directory: string, port: number) => [[process.execPath, '-e', program, directory, `${port}`]],
  url: (host: string, port: number) => `http://${host}:${port}`,
  ping: async (url: string) => void (await directoryOf(url)),
};

test('a server runs until it is stopped, and leaves nothing behind', async () => {
  const { address, stop } = await startLocalServer(server);
  const directory = await directoryOf(address);
  expect(existsSync(directory)).toBe(true);
  await stop();
  await expect(directoryOf(address)).rejects.toThrow();
  expect(existsSync(directory)).toBe(false);
});

test('a server that crashes is there again, on the same data', async () => {
  const { address, stop, crash } = await startLocalServer({
    ...server,
    // Counts in its directory how often it was started.
    commands: (directory, port) => [
      [
        process.execPath,
        '-e',
        `require('node:fs').appendFileSync(process.argv[1] + '/starts', 'x'); ${program}`,
        directory,
        `${port}`,
      ],
    ],
  });
  const directory = await directoryOf(address);
  await crash?.();
  expect(await directoryOf(address)).toBe(directory);
  expect(readFileSync(join(directory, 'starts'), 'utf8')).toBe('xx');
  await stop();
  await expect(directoryOf(address)).rejects.toThrow();
  expect(existsSync(directory)).toBe(false);
});

test('a server that ends before it answers is an error with its last words', async () => {
  const commands = () => [[process.execPath, '-e', 'console.error("cannot bind"); process.exit(3)']];
  await expect(startLocalServer({ ...server, commands })).rejects.toThrow(/echo ended with 3 .*cannot bind/);
});

test('a preparation that fails is one too, and the server is not started', async () => {
  const commands = (directory: string, port: number) => [
    [process.execPath, '-e', 'console.error("no space"); process.exit(1)'],
    ...server.commands(directory, port),
  ];
  await expect(startLocalServer({ ...server, commands })).rejects.toThrow(/no space/);
});

test('its runner can be killed outright, and it still ends with its data', async () => {
  const module = new URL('../../services/local-server.ts', import.meta.url).href;
  const code = `
    import { startLocalServer } from ${JSON.stringify(module)};
    const { address } = await startLocalServer({
      name: 'orphan',
      commands: (directory, port) => [[process.execPath, '-e', ${JSON.stringify(program)}, directory, String(port)]],
      url: (host, port) => 'http://' + host + ':' + port,
      ping: async (url) => void (await fetch(url)),
    });
    console.log(address);
  `;
  const runner = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [printed] = (await once(runner.stdout, 'data')) as [Buffer];
  const address = String(printed).trim();
  const directory = await directoryOf(address);
  runner.kill('SIGKILL');
  await untilReady(async () => {
    if (existsSync(directory)) throw new Error('the data is still there');
  });
  await expect(directoryOf(address)).rejects.toThrow();
});
