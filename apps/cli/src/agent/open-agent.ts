import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { InvalidInputError, parseWith, type SessionStore } from '@x/core';
import { WorkspaceSession } from '@x/core/node';
import { agentFromConfig, type HarnessAgent, type PartReference, parseFrontMatter } from '@x/harness';
import { parseDocument } from 'yaml';
import * as z from 'zod';
import { UsageError } from '../command.js';
import { openStore, type StoreValues } from '../open-store.js';
import { readInput } from '../read-input.js';
import { storeKind, storeNames, storeOfAddress } from '../stores.js';
import { type Beside, createRegistry } from './capabilities.js';
import { chooseModel, laterModel } from './choose-model.js';

/** An agent as a file describes it, and what was opened for it. */
export interface OpenAgent {
  readonly agent: HarnessAgent;
  /** Holds the agent's sessions. */
  readonly store: SessionStore;
  /** Closes the agent first, then connections. */
  close(): Promise<void>;
}

export interface OpenAgentOptions {
  /** In place of the model that the file names. */
  readonly model?: string | undefined;
  /** The directory to work in where the file names no workspace, which sessions have in common. Default `process.cwd()`. */
  readonly project?: string | undefined;
  /** MCP servers beside those of the file, which go before them. */
  readonly servers?: Readonly<Record<string, object>> | undefined;
  /** Runs every tool without asking, but for those that the file denies. Default false. */
  readonly allowAll?: boolean | undefined;
  /** Default `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** The file of compaction settings for every agent in a directory. */
const COMPACTION_FILES = ['compaction.yaml', 'compaction.yml'];
/** The folder of prompts that a compaction names; a prompt whose front matter names a model is a dedicated summarizer. */
const PROMPTS = 'prompts';

/** Capabilities and keys that let an agent act on the machine: one that has any asks before it acts, unless its file says otherwise. */
const ACTING = ['shell', 'workspace_tools', 'mcp', 'mcp_servers', 'subagents', 'memory'];

/**
 * Makes the agent of a file. One that names no workspace works in the folder one stands in. Where its `compaction`, or that of its subagents, says nothing, a `compaction.yaml` beside it
 * counts. A Markdown file holds the same keys in its front matter, and the system prompt below.
 *
 * @throws {UsageError} when the file cannot be read.
 * @throws {InvalidInputError} or {@link HarnessConfigError} naming everything that is wrong in it.
 */
export async function openAgent(file: string, options: OpenAgentOptions = {}): Promise<OpenAgent> {
  const {
    model,
    project = process.cwd(),
    servers = {},
    allowAll = false,
    environment = process.env,
  } = options;
  const written = await readConfig(file);
  const added = Object.keys(servers).length > 0 && {
    mcp_servers: { ...servers, ...Object(written.mcp_servers) },
  };
  const place = written.workspace === undefined ? { workspace: project, isolation: 'shared' } : {};
  const config = withPermissions({ ...place, ...written, ...added }, allowAll);
  const directory = dirname(resolve(file));
  const closers: (() => Promise<void>)[] = [];
  let opened: SessionStore | undefined;
  const open = async (values: StoreValues): Promise<SessionStore> => {
    const { store, close } = await openStore(values, { readOnly: false, createTables: true });
    closers.push(close);
    opened = store;
    return store;
  };
  const builder = await agentFromConfig(
    model === undefined ? config : { ...config, model },
    {
      model: (reference) => chooseModel(reference, environment),
      session: (reference) => open(addressOf(reference)),
      defaultSession: (workspace) => open({ workspace }),
      registry: createRegistry(environment, await besideOf(directory, environment)),
    },
    { environment, directory },
  );
  const agent = builder.build();
  return {
    agent,
    store: opened ?? new WorkspaceSession(agent.storage),
    async close() {
      await agent.close();
      for (const close of closers) await close();
    },
  };
}

/** Keeps what an agent stores out of git: sessions are nothing to commit. */
export async function keepOutOfGit({ storage }: HarnessAgent): Promise<void> {
  if (!(await storage.stat('.gitignore'))) await storage.write('.gitignore', '*\n');
}

type Config = Readonly<Record<string, unknown>>;

/** Adds the permissions that a file with acting capabilities leaves out; with `allowAll` they ask for nothing. */
function withPermissions(config: Config, allowAll: boolean): Config {
  const capabilities: readonly unknown[] = Array.isArray(config.capabilities) ? config.capabilities : [];
  const features = Object(config.features ?? {}) as Config;
  const names = [...capabilities.map((each) => Object(each).ref ?? each), ...Object.keys(features)];
  const bypass = (settings: unknown) => ({
    ...Object(settings === true ? {} : settings),
    ask: [],
    mode: 'bypass',
  });
  if (config.permissions === undefined && !names.includes('permissions')) {
    const acts = ACTING.some((name) => names.includes(name) || config[name] !== undefined);
    return acts ? { ...config, permissions: allowAll ? bypass({}) : {} } : config;
  }
  if (!allowAll) return config;
  if (config.permissions !== undefined) return { ...config, permissions: bypass(config.permissions) };
  if ('permissions' in features) {
    return { ...config, features: { ...features, permissions: bypass(features.permissions) } };
  }
  return {
    ...config,
    capabilities: capabilities.map((each) => {
      const { ref = each, config: settings } = Object(each) as { ref?: unknown; config?: unknown };
      return ref === 'permissions' ? { ref, config: bypass(settings) } : each;
    }),
  };
}

async function readConfig(file: string): Promise<Config> {
  if (file.endsWith('.md')) {
    const { data, body } = parseFrontMatter(await readInput(file), file);
    if (body !== '' && data.system_prompt !== undefined) {
      throw new UsageError(
        `${file} has two system prompts: the text below its front matter, and "system_prompt".`,
      );
    }
    return { name: basename(file, '.md'), ...data, ...(body === '' ? {} : { system_prompt: body }) };
  }
  const config = await readYaml(file);
  if (typeof config === 'object' && config !== null && !Array.isArray(config)) return { ...config };
  throw new UsageError(`${file} must hold a mapping, with at least "model".`);
}

async function readYaml(file: string): Promise<unknown> {
  // JSON is YAML too.
  const document = parseDocument(await readInput(file), { logLevel: 'error' });
  const [error] = document.errors;
  if (error !== undefined) throw new UsageError(`${file} is no YAML: ${error.message}`);
  return document.toJS({ maxAliasCount: 100 });
}

/** Reads what stands beside an agent's file. */
async function besideOf(
  directory: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Beside> {
  const [file, other] = COMPACTION_FILES.filter((name) => existsSync(join(directory, name)));
  if (other !== undefined) {
    throw new UsageError(`${directory} holds ${file} and ${other}: one of them would not count. Delete one.`);
  }
  const folder = join(directory, PROMPTS);
  const prompts: Record<string, string> = {};
  const agents: Record<string, NonNullable<Beside['agents']>[string]> = {};
  for (const entry of existsSync(folder) ? await readdir(folder) : []) {
    if (!entry.endsWith('.md')) continue;
    const { data, body } = parseFrontMatter(await readInput(join(folder, entry)), `${PROMPTS}/${entry}`);
    const name = basename(entry, '.md');
    prompts[name] = body;
    if (data.model === undefined) continue;
    const model = laterModel({ id: String(data.model) }, environment);
    agents[name] = body === '' ? { model } : { model, summaryPrompt: body };
  }
  return {
    ...(file === undefined
      ? {}
      : { compaction: await readYaml(join(directory, file)), compactionFile: file }),
    prompts,
    agents,
    models: (id) => laterModel({ id }, environment),
  };
}

const servers = storeNames.filter((name) => storeKind(name).schemes !== undefined);
const withUrl = z.strictObject({ url: z.string().min(1) });

/** An address such as `redis://…`, or `{ref: redis, config: {url}}`. */
function addressOf(reference: PartReference): StoreValues {
  const [name, url] =
    typeof reference === 'string'
      ? [storeOfAddress(reference), reference]
      : [
          servers.find((known) => known === reference.ref),
          parseWith(withUrl, reference.config, 'session', 'Write { ref, config: { url } }.').url,
        ];
  if (name !== undefined) return { workspace: '', [name]: url };
  const addresses = servers.map((known) => `${known}://…`).join(' or ');
  throw new InvalidInputError('session', [
    { path: '', message: `must be ${addresses}; leave it out for a file of SQLite in the workspace` },
  ]);
}
