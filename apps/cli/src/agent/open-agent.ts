import { basename, dirname, resolve } from 'node:path';
import { parseCompactionConfig } from '@x/compaction';
import { type Capability, InvalidInputError, type JsonValue, type SessionStore } from '@x/core';
import { errorText, isObject, parseWith } from '@x/core/internal';
import { WorkspaceSession } from '@x/core/node';
import {
  type AgentConfig,
  agentFromConfig,
  budget,
  type EventLog,
  eventLog,
  type HarnessAgent,
  HarnessConfigError,
  type PartReference,
  parseAgentConfig,
  permissions,
} from '@x/harness';
import { parseFrontMatter, subagentFileProblems } from '@x/harness/internal';
import { oneLine } from '@x/harness/view';
import * as z from 'zod';
import { UsageError, X } from '../command.js';
import { openStore, type StoreValues } from '../open-store.js';
import { readInput, readYaml } from '../read-input.js';
import { realPathOf, storeKind, storeNames, storeOfAddress } from '../stores.js';
import { createRegistry, type FolderFiles } from './capabilities.js';
import { chooseModel, lazyModel } from './choose-model.js';
import { readFolderFiles } from './folder-files.js';
import { requireTrust, type Trust } from './trust.js';

/** An agent from a file, with the resources that were opened for it. */
export interface OpenAgent {
  readonly agent: HarnessAgent;
  /** The id of the agent's model. */
  readonly model: string;
  /** The permission mode of sessions without their own mode. Omitted for the mode `default`. */
  readonly mode?: string | undefined;
  /** The capabilities that the agent file names. */
  readonly capabilities: readonly string[];
  /** Description of the sandbox, if commands run in one. */
  readonly sandbox?: string | undefined;
  /** Stores the events of the agent's sessions. */
  readonly events: EventLog;
  /** Stores the agent's sessions. */
  readonly store: SessionStore;
  /** Closes the agent, then the connections. */
  close: HarnessAgent['close'];
}

export interface OpenAgentOptions {
  /** Overrides the model in the file. */
  readonly model?: string | undefined;
  /** The directory to work in if the file names no workspace. Sessions share it. Default `process.cwd()`. */
  readonly project?: string | undefined;
  /** MCP servers in addition to those in the file, with their preferred names. */
  readonly servers?: readonly (readonly [name: string, server: object])[] | undefined;
  /**
   * Decides whether to trust a file that starts programs, allows calls or leaves its folder. Default: only files that were trusted before
   * run.
   */
  readonly trust?: Trust | undefined;
  /** Settings that apply if the file does not have them. `checkpoint` is then `step`. */
  readonly defaults?: Config;
  /** Runs every tool without approval, except those that the file denies. Default false. */
  readonly allowAll?: boolean | undefined;
  /** Default `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Receives warnings about settings without effect. Default: prints a line to standard error. */
  readonly warn?: (message: string) => void;
}

/** Capabilities that can act on the machine. An agent with any of them asks before it acts, unless its file has permissions. */
const CAN_ACT = ['shell', 'workspace_tools', 'mcp', 'subagents', 'memory'];

/** Isolations in which sessions work in subfolders of the workspace, not at its root. */
const IN_SUBFOLDERS: readonly unknown[] = ['session', 'agent'];

/**
 * Creates the agent of a file. If the file names no workspace, the agent works in the current folder. A `compaction.yaml` in the same
 * directory sets the keys that its `compaction`, or that of its subagents, does not set. A Markdown file has the same keys in its front
 * matter, followed by the system prompt.
 *
 * @throws {UsageError} if the file cannot be read, or is not trusted.
 * @throws {InvalidInputError} with the file's name and all of its problems.
 */
export async function openAgent(file: string, options: OpenAgentOptions = {}): Promise<OpenAgent> {
  try {
    return await open(file, options);
  } catch (cause) {
    // Errors of the other files already contain their own names.
    if (!InvalidInputError.isInstance(cause) && !HarnessConfigError.isInstance(cause)) throw cause;
    const subject = InvalidInputError.isInstance(cause) ? cause.subject : 'agent configuration';
    if (subject !== 'agent configuration' && subject !== 'model') throw cause;
    const isOfModel = subject === 'model' || cause.issues.every(({ path }) => path === 'model');
    // Errors of a fallback name its own id.
    const isOption = options.model !== undefined && isOfModel && cause.message.includes(options.model);
    const isKey = cause.issues.some(({ message }) => message.startsWith('unknown key'));
    const issues = isOption ? cause.issues.map((issue) => ({ ...issue, path: '' })) : cause.issues;
    const remedy = isKey ? `${X} schema prints all keys.` : '';
    throw new InvalidInputError(isOption ? '--model' : file, issues, { cause, remedy });
  }
}

async function open(file: string, options: OpenAgentOptions): Promise<OpenAgent> {
  // Long because each step needs results of the steps before.
  const {
    model,
    project = process.cwd(),
    servers = [],
    allowAll = false,
    environment = process.env,
    warn = (message: string) => void process.stderr.write(`${message}\n`),
  } = options;
  // If the path is a link, the folder of its target applies, because trust covers that folder.
  const directory = dirname(realPathOf(resolve(file)));
  const content = await readConfig(file);
  const closers: (() => Promise<void>)[] = [];
  let opened: SessionStore | undefined;
  const openSessions = async (values: StoreValues): Promise<SessionStore> => {
    const { store, close } = await openStore(values, { readOnly: false, createTables: true, warn });
    closers.push(close);
    opened = store;
    return store;
  };
  // Created capabilities by name. The names in the file may still be variables.
  const created = new Map<string, Capability>();
  // Store the message before the model is called, because nobody sends it again after a crash.
  const all = { checkpoint: 'step', ...options.defaults, ...content, ...(model !== undefined && { model }) };
  const written = inProject(all, directory, project, servers);
  const first = parseAgentConfig(written, { environment });
  const { id } = first.model;
  // Check the environment before the question for trust. Otherwise a missing variable would make the user answer twice.
  lazyModel({ id }, environment);
  for (const { id } of first.fallback) lazyModel({ id }, environment, 'fallback model ');
  const keepTrust = await requireTrust(file, content, options.trust);
  const read = await readFolderFiles(directory, id.slice(0, id.indexOf(':') + 1), environment, warn);
  const whole = withCompaction(written, first, read, warn);
  const parsed = parseAgentConfig(whole, { environment });
  const folderFiles: FolderFiles = {
    ...read,
    directory,
    named: new Map(parsed.capabilities.map(({ ref, config }) => [ref, config])),
  };
  const builder = await agentFromConfig(
    whole,
    {
      model: (reference) => chooseModel(reference, environment),
      session: (reference) => openSessions(addressOf(reference)),
      defaultSession: (workspace) => openSessions({ workspace }),
      registry: createRegistry(environment, folderFiles, { allowAll, created }),
    },
    { environment, directory },
  );
  // For commands that show costs and events.
  const events = eventLog();
  builder.use(events, ...defaultCapabilities(created, await pricesOf(parsed), allowAll));
  const agent = builder.build();
  keepTrust();
  for (const problem of await problemsOf(file, agent, parsed, created)) warn(problem);
  return {
    agent,
    model: id,
    mode: allowAll ? 'bypass' : Object(folderFiles.named?.get('permissions')).mode,
    capabilities: [...created.keys()],
    sandbox: sandboxOf(created.get('shell')),
    events,
    store: opened ?? new WorkspaceSession(agent.storage),
    async close(how) {
      await agent.close(how);
      for (const close of closers) await close();
    },
  };
}

/** Returns the description of the commands' sandbox that the model reads. */
function sandboxOf(shell: Capability | undefined): string | undefined {
  return /Commands run in a sandbox:.*/.exec(shell?.tools?.[0]?.definition.description ?? '')?.[0];
}

/** Returns the capabilities that an agent gets if its file does not name them. */
function defaultCapabilities(
  created: ReadonlyMap<string, Capability>,
  prices: Awaited<ReturnType<typeof pricesOf>>,
  allowAll: boolean,
): readonly Capability[] {
  const acts = CAN_ACT.some((name) => created.has(name));
  return [
    ...(created.has('budget') ? [] : [budget({ maxTokensPerSession: Number.MAX_SAFE_INTEGER, prices })]),
    ...(created.has('permissions') || !acts ? [] : [permissions({ mode: allowAll ? 'bypass' : 'default' })]),
  ];
}

/** Returns the list prices of an agent's models. Skips self-hosted models, because a model with a known name may cost nothing there. */
async function pricesOf({ model, fallback }: AgentConfig) {
  const { modelPrices } = await import('../known-models.js');
  const ids = [model, ...fallback].map(({ id }) => id).filter((id) => !id.startsWith('compatible:'));
  return Object.fromEntries(
    ids.flatMap((id) => {
      const prices = modelPrices(id);
      return prices === undefined ? [] : [[id, prices]];
    }),
  );
}

/** Adds a project's workspace and MCP servers to an agent file's content. */
function inProject(
  content: Config,
  directory: string,
  project: string,
  servers: NonNullable<OpenAgentOptions['servers']>,
): Config {
  const own = isObject(content.mcp_servers as JsonValue) ? Object.entries(content.mcp_servers as object) : [];
  const all = withServers(startedIn(directory, own), startedIn(project, servers));
  const place = content.workspace === undefined ? { workspace: project, isolation: 'shared' } : {};
  return { ...place, ...content, ...(own.length + servers.length > 0 && { mcp_servers: all }) };
}

/** Lists settings without effect in an agent file and in those of its subagents. */
async function problemsOf(
  file: string,
  agent: HarnessAgent,
  parsed: AgentConfig,
  created: ReadonlyMap<string, Capability>,
): Promise<readonly string[]> {
  const reduces = created.has('compaction') || created.has('infinity_context');
  const idle = (reduces ? [] : compactionOnlyKeys(parsed)).map(
    (key) => `${file}: ${key} does nothing without compaction. Add "compaction" to capabilities.`,
  );
  // A session in a subfolder does not see the files of subagents.
  if (!created.has('subagents') || IN_SUBFOLDERS.includes(parsed.settings.isolation)) return idle;
  const { config } = parsed.capabilities.findLast(({ ref }) => ref === 'subagents') ?? {};
  const read = subagentFileProblems(agent.workspace, config);
  const problems = await read.catch((error: unknown) => [errorText(error)]);
  return [...idle, ...problems.map((problem) => `subagents: ${oneLine(problem)}`)];
}

/** Lists an agent's settings that only compaction uses. */
function compactionOnlyKeys({ model, fallback, capabilities }: AgentConfig): readonly string[] {
  const isNative = [model, ...fallback].some(({ nativeCompaction }) => nativeCompaction === 'auto');
  const hooks = capabilities.flatMap(({ ref, config }) => (ref === 'hooks' ? config : []));
  const events = hooks.flatMap((config) => Object.keys(Object(config ?? {})));
  return [
    ...(isNative ? ['native_compaction: auto'] : []),
    ...events.filter((event) => event.endsWith('_compaction')).map((event) => `hooks.${event}`),
  ];
}

/** Adds a `.gitignore` for the agent's storage, because sessions should not be committed. */
export async function keepOutOfGit({ storage }: HarnessAgent): Promise<void> {
  if (!(await storage.stat('.gitignore'))) await storage.write('.gitignore', '*\n');
}

type Config = Readonly<Record<string, unknown>>;

/** Maximum length of a server's name. */
const NAME_CHARS = 32;

/** Adds servers to those of a file. If a name is taken, a number is appended: a second `github` becomes `github_2`. */
function withServers(
  own: readonly (readonly [name: string, server: unknown])[],
  added: readonly (readonly [name: string, server: unknown])[],
): Readonly<Record<string, unknown>> {
  const all = new Map(own);
  for (const [wanted, server] of added) {
    let name = wanted;
    for (let n = 2; all.has(name); n++) name = `${wanted.slice(0, NAME_CHARS - 1 - `${n}`.length)}_${n}`;
    all.set(name, server);
  }
  return Object.fromEntries(all);
}

/**
 * Makes servers' programs start in this folder, or in their `cwd` relative to it. In the agent's workspace, `npx` and similar tools could
 * run a planted program.
 */
function startedIn(
  folder: string,
  servers: readonly (readonly [name: string, server: unknown])[],
): readonly (readonly [name: string, server: unknown])[] {
  return servers.map(([name, server]) => {
    if (!isObject(server as JsonValue)) return [name, server];
    const { command, cwd = '.' } = server as { readonly command?: unknown; readonly cwd?: unknown };
    // A variable is resolved later, to an absolute path.
    const starts = command !== undefined && typeof cwd === 'string' && !cwd.startsWith('${');
    return [name, starts ? { ...(server as object), cwd: resolve(folder, cwd) } : server];
  });
}

/**
 * Adds the compaction that Aura's keys in a compaction file enable, as Aura does. Warns if the file has other settings and the agent does
 * not name `compaction`.
 */
function withCompaction(
  written: Config,
  { capabilities }: AgentConfig,
  { compaction: file, compactionFile = '' }: FolderFiles,
  warn: (message: string) => void,
): Config {
  const named = capabilities.map(({ ref }) => ref);
  const isNamed = named.includes('compaction') || Object.hasOwn(Object(written.features), 'compaction');
  if (file === undefined || isNamed) return written;
  const isAura = parseCompactionConfig(file, compactionFile).options.preset === 'aura';
  if (isAura && !named.includes('infinity_context')) {
    return { ...written, features: { ...Object(written.features), compaction: true } };
  }
  warn(
    `${compactionFile}: does nothing, because the agent does not name compaction. Add features: { compaction: true }.`,
  );
  return written;
}

async function readConfig(file: string): Promise<Config> {
  if (file.endsWith('.md')) {
    const { data, body } = parseFrontMatter(await readInput(file), file);
    if (body !== '' && data.system_prompt !== undefined) {
      throw new UsageError(
        `${file} has two system prompts: the text below its front matter, and "system_prompt". Delete one.`,
      );
    }
    const prompt = body === '' ? {} : { system_prompt: body };
    return { name: basename(file, '.md'), ...data, ...prompt };
  }
  const config = await readYaml(file);
  if (typeof config === 'object' && config !== null && !Array.isArray(config)) return withCapability(config);
  throw new UsageError(`${file} must contain a mapping with at least the key "model".`);
}

/** Wraps a file that contains a single capability, as Everruns publishes them, as an agent with this capability. */
function withCapability(written: object): Config {
  const { ref, config, ...rest }: Config = { ...written };
  if (typeof ref !== 'string' || rest.capabilities !== undefined) return { ...written };
  return { ...rest, capabilities: [config === undefined ? ref : { ref, config }] };
}

const servers = storeNames.filter((name) => storeKind(name).schemes !== undefined);
const withUrl = z.strictObject({ url: z.string().min(1) });

/** Returns the store for a URL such as `redis://…`, or for `{ref: redis, config: {url}}`. */
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
    { path: '', message: `must be ${addresses}; leave it out to store sessions in an SQLite file` },
  ]);
}
