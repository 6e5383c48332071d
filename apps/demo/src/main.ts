import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { tiktokenCounter } from '@x/compaction';
import { type AgentEvent, XError } from '@x/core';
import { HarnessBackend } from './backend/harness-backend.js';
import { WorkspaceMemory } from './backend/workspace-memory.js';
import { chooseModel } from './choose-model.js';
import { createAgent } from './create-agent.js';
import { once } from './once.js';
import type { BackendInfo } from './server/backend.js';
import { createServer } from './server/server.js';
import { type DemoSettings, readSettings, USAGE } from './settings.js';
import { openStorage } from './storage.js';

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
    icon: 'ask',
    title: 'Ask about it',
    description: 'Answered from what is in view, or from the log of the session',
    prompt: 'How many files and lines has packages/core?',
  },
  {
    icon: 'find',
    title: 'Find something',
    description: 'Where is openSession defined?',
    prompt: 'Where is openSession defined?',
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

async function runOnce(settings: DemoSettings, prompt: string): Promise<number> {
  const choice = await chooseModel(process.env, settings);
  const storage = await openStorage(settings);
  const demo = createAgent({ ...settings, ...choice, storage, unattended: true });
  console.log(`Model ${choice.model.id}${choice.embedded ? ' (rules, no LLM)' : ''}, ${storage.name}`);
  onSignals(() => demo.agent.close());
  const completed = await once(demo, { prompt, session: settings.session, output: process.stdout });
  await demo.agent.close();
  await storage.close();
  return completed ? 0 : 1;
}

async function serve(settings: DemoSettings): Promise<number> {
  const choice = await chooseModel(process.env, { ...settings, paceMs: PACE_MS });
  const counter = tiktokenCounter();
  let backend: HarnessBackend | undefined;
  const onEvent = (event: AgentEvent) => backend?.onEvent(event);
  const storage = await openStorage(settings);
  const demo = createAgent({ ...settings, ...choice, storage, onEvent });
  const memory = new WorkspaceMemory({ workspace: demo.workspace, index: demo.memoryIndex });
  backend = new HarnessBackend({
    demo,
    counter,
    memory,
    info: {
      version: version(),
      model: { id: choice.model.id, embedded: choice.embedded },
      contextWindow: choice.model.contextWindow ?? 0,
      triggerTokens: demo.triggerTokens,
      strategy: 'auto',
      compaction: demo.compaction,
      workspace: storage.name,
      abilities: { undo: true, decide: true, plan: !choice.embedded, memory: true },
      starters: STARTERS,
    },
  });
  const { host, port, token } = settings;
  // The same from the sources as from what was built.
  const webRoot = fileURLToPath(new URL('../dist/web', import.meta.url));
  const server = createServer({ backend, webRoot, host, port, token });
  const url = await server.listen();
  const resumed = await backend.resumeInterrupted();
  if (resumed > 0) console.log(`Resumed ${resumed} unfinished ${resumed === 1 ? 'call' : 'calls'}.`);
  console.log(`Model ${choice.model.id}${choice.embedded ? ' (rules, no LLM)' : ''}, ${storage.name}`);
  const unwatch = storage.store.reach === 'cluster' ? backend.watch() : () => {};
  console.log(`\n  Open ${url}\n`);
  await new Promise<void>((resolve) => onSignals(resolve));
  unwatch();
  await demo.agent.close();
  await backend.close();
  await memory.close();
  await server.close();
  await storage.close();
  return 0;
}

/** Runs `stop` at the first signal; the second ends the process at once. */
function onSignals(stop: () => unknown): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop());
}

function version(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
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
