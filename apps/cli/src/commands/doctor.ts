import { existsSync } from 'node:fs';
import { errorText } from '@x/core/internal';
import { printable } from '@x/harness/view';
import { isHttpUrl, keyVariableOf, listModels, NOT_A_URL, SERVER_VARIABLES } from '../agent/choose-model.js';
import { openAgent } from '../agent/open-agent.js';
import { type Command, command, X } from '../command.js';
import { type StoreValues, storeOptions, withStore } from '../open-store.js';
import { withoutSecrets } from '../stores.js';
import { doctorLog } from './doctor-log.js';
import { PROVIDER_VARIABLES } from './init.js';
import { DEFAULT_AGENT_FILE } from './run.js';

/** Names of environment variables with API keys. Their values are never shown. */
const KEYS = Object.keys(PROVIDER_VARIABLES);

interface Finding {
  readonly ok: boolean;
  readonly text: string;
}

/** Checks everything that `x run` needs. */
const checkup = command({
  name: 'doctor',
  takes: '[agent.yaml]',
  options: storeOptions,
  summary: 'Checks what a run needs: Node, the agent file, its model and capabilities, the session store.',
  examples: ['x doctor', 'x doctor agent.yaml --redis redis://localhost'],
  async run({ values, positionals: [file = DEFAULT_AGENT_FILE], output }) {
    const warnings = new Set<string>();
    const warn = (message: string) => void warnings.add(message);
    const findings = [
      nodeVersion(),
      keys(),
      ...(await Promise.all(SERVER_VARIABLES.filter((name) => process.env[name]).map(server))),
      ...(await agentFile(file, warn)),
      await store({ workspace: '.', ...values }, warn),
    ];
    for (const { ok, text } of findings) output.write(`${ok ? 'ok     ' : 'NOT OK '} ${printable(text)}\n`);
    for (const warning of warnings) output.write(`note    ${printable(withoutSecrets(warning))}\n`);
    return findings.some(({ ok }) => !ok) ? 1 : 0;
  },
});

/** The check, with `doctor log` as a subcommand. To check an agent file named log, write ./log. */
export const doctor: Command = {
  ...checkup,
  subcommands: [doctorLog],
  run: (args, streams) =>
    args[0] === 'log' ? doctorLog.run(args.slice(1), streams) : checkup.run(args, streams),
};

function nodeVersion(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const ok = major > 20 || (major === 20 && minor >= 19);
  return { ok, text: `Node ${process.versions.node}${ok ? '' : '; 20.19 or later is needed'}` };
}

function keys(): Finding {
  const set = KEYS.filter((name) => process.env[name]);
  if (set.length > 0) return { ok: true, text: `${set.join(', ')} set` };
  return { ok: false, text: `none of ${KEYS.join(', ')} is set, so no model can be called` };
}

/** Milliseconds to wait for a server's response. */
const TIMEOUT_MS = 5_000;

async function server(variable: string): Promise<Finding> {
  const label = `the server of ${variable}`;
  return attempt(label, async () => {
    const address = process.env[variable] as string;
    if (!isHttpUrl(address)) throw new Error(NOT_A_URL);
    const { status } = await listModels(variable, TIMEOUT_MS).catch((error: Error) => {
      const { code = errorText(error) } = Object(error.cause) as { readonly code?: string };
      throw new Error(`does not answer (${code}): is it running?`);
    });
    const key = keyVariableOf(variable);
    if (status === 401 || status === 403)
      throw new Error(`${process.env[key] ? `the key in ${key} was refused` : `set ${key}`} (${status})`);
    return `${label} answers`;
  });
}

type Warn = (message: string) => void;

async function agentFile(file: string, warn: Warn): Promise<readonly Finding[]> {
  if (!existsSync(file)) return [{ ok: false, text: `${file} does not exist; ${X} init writes one` }];
  let id = '';
  const found = await attempt('the agent', async () => {
    const { agent, model, capabilities, close } = await openAgent(file, { warn });
    id = model;
    await close();
    return `${file}: agent "${agent.name}" with ${capabilities.join(', ') || 'no capabilities'}`;
  });
  const served = id.startsWith('compatible:') ? [await modelOnServer(id.slice('compatible:'.length))] : [];
  return [found, ...served];
}

/** Checks whether a self-hosted server has the model. Not every server lists its models. */
async function modelOnServer(model: string): Promise<Finding> {
  const served = (await listModels('OPENAI_BASE_URL', TIMEOUT_MS).catch(() => undefined))?.models;
  const names = served?.map(({ id }) => id);
  const ok = names?.includes(model) !== false;
  return {
    ok,
    text: `the server ${names ? (ok ? 'has' : 'lacks') : 'does not say whether it has'} the model ${model}${ok ? '' : `; it has ${names?.join(', ')}`}`,
  };
}

async function store(values: StoreValues, warn: Warn): Promise<Finding> {
  return attempt('the session store', () =>
    withStore(values, { readOnly: true, warn }, async (store) => {
      let count = 0;
      for await (const _ of store.list({})) if (++count === 100) break;
      return `the session store answers, with ${count === 100 ? '100 or more' : count} ${count === 1 ? 'session' : 'sessions'}`;
    }),
  );
}

async function attempt(name: string, look: () => Promise<string>): Promise<Finding> {
  try {
    return { ok: true, text: await look() };
  } catch (error) {
    return { ok: false, text: withoutSecrets(`${name}: ${errorText(error)}`) };
  }
}
