import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { InvalidInputError, XError } from '@x/core';
import { chooseModel } from './choose-model.js';
import { once } from './once.js';
import { type OpenedUser, openUser } from './open-user.js';
import type { Backend, BackendInfo } from './server/backend.js';
import { createServer } from './server/server.js';
import { type DemoSettings, readSettings, USAGE } from './settings.js';

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
  // Opened as for the page, which can show later what was done here.
  const starters = STARTERS;
  const opened = await openUser({
    settings,
    choice,
    user: undefined,
    version: version(),
    starters,
    unattended: true,
  });
  console.log(`Model ${choice.model.id}${choice.embedded ? ' (rules, no LLM)' : ''}, ${opened.storageName}`);
  onSignals(() => opened.demo.agent.close());
  const completed = await once(opened.demo, { prompt, session: settings.session, output: process.stdout });
  await opened.closeAgent();
  await opened.closeStorage();
  return completed ? 0 : 1;
}

async function serve(settings: DemoSettings): Promise<number> {
  const { host, port, token, users } = settings;
  const choice = await chooseModel(process.env, { ...settings, paceMs: PACE_MS });
  const opened = new Map<string | undefined, OpenedUser>();
  for (const user of users ? Object.keys(users) : [undefined]) {
    opened.set(user, await openUser({ settings, choice, user, version: version(), starters: STARTERS }));
  }
  const backendOf = (user: string | undefined): Backend => {
    const found = opened.get(user);
    if (!found) throw new Error('A token was accepted that belongs to nobody.');
    return found.backend;
  };
  // The same from the sources as from what was built.
  const webRoot = fileURLToPath(new URL('../dist/web', import.meta.url));
  const server = createServer({ backend: backendOf, webRoot, host, port, token, users });
  const url = await server.listen().catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    const message = `port ${port} is taken; choose another with --port, or end what listens there`;
    throw new InvalidInputError('settings', [{ path: 'port', message }], { cause: error });
  });
  let resumed = 0;
  for (const { backend } of opened.values()) resumed += await backend.resumeInterrupted();
  if (resumed > 0) console.log(`Resumed ${resumed} unfinished ${resumed === 1 ? 'call' : 'calls'}.`);
  const [first] = opened.values();
  console.log(`Model ${choice.model.id}${choice.embedded ? ' (rules, no LLM)' : ''}, ${first?.storageName}`);
  const unwatch = [...opened.values()].map((each) => each.watch());
  console.log(`\n  Open ${url}${users ? '?token=… with the token of a user' : ''}\n`);
  await new Promise<void>((resolve) => onSignals(resolve));
  for (const end of unwatch) end();
  for (const each of opened.values()) await each.closeAgent();
  await server.close();
  for (const each of opened.values()) await each.closeStorage();
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
