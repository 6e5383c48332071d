import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tiktokenCounter } from '@x/compaction/tiktoken';
import { InvalidInputError, XError } from '@x/core';
import { modelPrices } from '../../cli/src/known-models.js';
import { Backend } from './backend/backend.js';
import { chooseModel } from './choose-model.js';
import { createAgent } from './create-agent.js';
import { once } from './once.js';
import { LOOPBACK } from './server/guard.js';
import { createServer } from './server/server.js';
import { type DemoSettings, readSettings, USAGE } from './settings.js';
import { openFiles } from './storage.js';

/** Milliseconds between two words of the embedded guide's answers in the page. */
const PACE_MS = 8;

async function main(): Promise<number> {
  const settings = readSettings(process.argv.slice(2), process.env);
  if (settings.help) {
    console.log(USAGE);
    return 0;
  }
  return settings.once === undefined ? serve(settings) : runOnce(settings, settings.once);
}

/** Creates the agent. */
async function open(settings: DemoSettings, paceMs: number, unattended = false) {
  const choice = await chooseModel(process.env, { ...settings, paceMs });
  const { data, repo } = settings;
  const storage = openFiles(data);
  const { id } = choice.model;
  const prices = choice.embedded ? undefined : modelPrices(id);
  const demo = createAgent({ ...choice, prices, data, repo, storage, unattended });
  console.log(`Model ${id}${choice.embedded ? ' (rules, no LLM)' : ''}, files in ${data}`);
  return { ...choice, prices, demo, storage };
}

async function runOnce(settings: DemoSettings, prompt: string): Promise<number> {
  const { demo, storage } = await open(settings, 0, true);
  onSignals(() => demo.agent.close());
  const code = await once(demo, prompt, storage.folder);
  await demo.agent.close();
  await storage.close();
  return code;
}

/** Returns the address of another running server with this file. A server that ends leaves its file behind. */
function runningServer(file: string): string | undefined {
  try {
    const { pid, address } = JSON.parse(readFileSync(file, 'utf8'));
    return pid !== process.pid && process.kill(pid, 0) ? address : undefined;
  } catch {
    return undefined;
  }
}

async function serve(settings: DemoSettings): Promise<number> {
  const { host, port, token, data } = settings;
  const serverFile = join(data, 'server.json');
  const other = runningServer(serverFile);
  if (other)
    console.log(
      `The demo at ${other} already runs with this data folder. Use that one: a page does not show what happens through another server until it is reloaded.`,
    );
  const { demo, storage, model, embedded, prices } = await open(settings, PACE_MS);
  const { id, contextWindow = 0 } = model;
  const info = { model: { id, embedded, prices }, contextWindow, triggerTokens: demo.triggerTokens };
  const backend = new Backend({ demo, counter: tiktokenCounter(), info });
  // The path is the same from the sources and from the build.
  const webRoot = fileURLToPath(new URL('../dist/web', import.meta.url));
  const server = createServer({ backend, webRoot, host, port, token });
  const url = await server.listen().catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    const message = `port ${port} is already in use. Choose another with --port, or stop the program that uses it`;
    throw new InvalidInputError('settings', [{ path: 'port', message }], { cause: error });
  });
  if (!other) writeFileSync(serverFile, JSON.stringify({ pid: process.pid, address: new URL(url).origin }));
  // Calls of the other server continue here only if it dies.
  const resumed = await backend.resumeAll();
  if (resumed > 0 && !other)
    console.log(`Resumed ${resumed} unfinished ${resumed === 1 ? 'call' : 'calls'}.`);
  const warning = LOOPBACK.test(host) ? '' : '  It has no TLS: others in this network can read the token.\n';
  console.log(`\n  Open ${url}\n${warning}`);
  await new Promise<void>((resolve) => onSignals(resolve));
  await demo.agent.close();
  await server.close();
  await storage.close();
  return 0;
}

/** Runs `stop` at the first signal. A second signal ends the process at once. */
function onSignals(stop: () => unknown): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop());
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    // Errors that users can fix are printed without a stack. Other errors are bugs.
    console.error(XError.isInstance(error) ? error.message : error);
    process.exitCode = 1;
  },
);
