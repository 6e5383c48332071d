import { fileURLToPath } from 'node:url';
import { tiktokenCounter } from '@x/compaction/tiktoken';
import { type AgentEvent, InvalidInputError, XError } from '@x/core';
import { modelPrices } from '../../cli/src/known-models.js';
import { Backend } from './backend/backend.js';
import { chooseModel } from './choose-model.js';
import { createAgent } from './create-agent.js';
import { once } from './once.js';
import type { BackendInfo } from './page.js';
import { createServer } from './server/server.js';
import { type DemoSettings, readSettings, USAGE } from './settings.js';
import { openFiles, openRedis } from './storage.js';

/** Milliseconds between two words of the embedded guide's answers in the page. */
const PACE_MS = 8;

const STARTERS: BackendInfo['starters'] = [
  {
    icon: 'survey',
    title: 'Survey this repository',
    description: 'Read it area by area through a small window, and write REPORT.md',
    prompt: 'survey this repository',
  },
  {
    icon: 'write',
    title: 'Be asked first',
    description: 'Writing outside its notes takes your approval',
    prompt: 'write ideas.md: look at the stores first',
  },
];

async function main(): Promise<number> {
  const settings = readSettings(process.argv.slice(2), process.env);
  if (settings.help) {
    console.log(USAGE);
    return 0;
  }
  return settings.once === undefined ? serve(settings) : runOnce(settings, settings.once);
}

/** Opens the agent, and the page's backend over it. */
async function open(settings: DemoSettings, paceMs: number, unattended = false) {
  const choice = await chooseModel(process.env, { ...settings, paceMs });
  const { id, contextWindow = 0 } = choice.model;
  let backend: Backend | undefined;
  const onEvent = (event: AgentEvent) => backend?.onEvent(event);
  const { data, repo, redis } = settings;
  const storage = redis === undefined ? openFiles(data) : await openRedis(redis);
  const demo = createAgent({ ...choice, data, repo, storage, unattended, onEvent });
  const { triggerTokens } = demo;
  const { embedded } = choice;
  const model = { id, embedded, prices: embedded ? undefined : modelPrices(id) };
  const opened = new Backend({
    demo,
    counter: tiktokenCounter(),
    info: { model, contextWindow, triggerTokens, plans: !embedded, starters: STARTERS },
  });
  backend = opened;
  console.log(`Model ${id}${embedded ? ' (rules, no LLM)' : ''}, ${storage.name}`);
  return {
    demo,
    backend: opened,
    storage,
    async closeAgent() {
      await demo.agent.close();
      await opened.close();
    },
  };
}

async function runOnce(settings: DemoSettings, prompt: string): Promise<number> {
  // With the page's backend, which can show later what was done here.
  const { demo, storage, closeAgent } = await open(settings, 0, true);
  onSignals(() => demo.agent.close());
  const completed = await once(demo, { prompt, session: settings.session, output: process.stdout });
  await closeAgent();
  await storage.close();
  return completed ? 0 : 1;
}

async function serve(settings: DemoSettings): Promise<number> {
  const { host, port, token } = settings;
  const { backend, storage, closeAgent } = await open(settings, PACE_MS);
  // The same from the sources as from what was built.
  const webRoot = fileURLToPath(new URL('../dist/web', import.meta.url));
  const server = createServer({ backend, webRoot, host, port, token });
  const url = await server.listen().catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    const message = `port ${port} is taken; choose another with --port, or end what listens there`;
    throw new InvalidInputError('settings', [{ path: 'port', message }], { cause: error });
  });
  const resumed = await backend.takeOver();
  if (resumed > 0) console.log(`Resumed ${resumed} unfinished ${resumed === 1 ? 'call' : 'calls'}.`);
  // Only where other servers may share it.
  const unwatch = storage.store.reach === 'cluster' ? backend.watch() : () => {};
  console.log(`\n  Open ${url}\n`);
  await new Promise<void>((resolve) => onSignals(resolve));
  unwatch();
  await closeAgent();
  await server.close();
  await storage.close();
  return 0;
}

/** Runs `stop` at the first signal; the second ends the process at once. */
function onSignals(stop: () => unknown): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop());
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    // What people can act on needs no stack; anything else is a defect.
    console.error(XError.isInstance(error) ? error.message : error);
    process.exitCode = 1;
  },
);
