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
import { storeKind, storeNames, storeOfAddress } from '../stores.js';
import { besideOf } from './beside-agent.js';
import { type Beside, createRegistry } from './capabilities.js';
import { chooseModel } from './choose-model.js';
import { requireTrust, type Trust } from './trust.js';

/** An agent as a file describes it, and what was opened for it. */
export interface OpenAgent {
  readonly agent: HarnessAgent;
  /** The id of its model. */
  readonly model: string;
  /** The capabilities that its file names. */
  readonly capabilities: readonly string[];
  /** Keeps the events of its sessions. */
  readonly events: EventLog;
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
  /** MCP servers beside those of the file, with the names that they would have. */
  readonly servers?: readonly (readonly [name: string, server: object])[] | undefined;
  /** Decides on a file that starts programs, allows calls or leaves its folder. Default: only what was trusted before runs. */
  readonly trust?: Trust | undefined;
  /** Runs every tool without asking, but for those that the file denies. Default false. */
  readonly allowAll?: boolean | undefined;
  /** Default `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Receives what the files say and nothing takes. Default: a line on the standard error. */
  readonly warn?: (message: string) => void;
}

/** Capabilities that let an agent act on the machine: one that has any asks before it acts, unless its file says otherwise. */
const ACTING = ['shell', 'workspace_tools', 'mcp', 'subagents', 'memory'];

/** Isolations under which nobody works at the workspace's root. */
const OF_ITS_OWN: readonly unknown[] = ['session', 'agent'];

/**
 * Makes the agent of a file. One that names no workspace works in the folder one stands in. Where its `compaction`, or that of its subagents, says nothing, a `compaction.yaml` beside it
 * counts. A Markdown file holds the same keys in its front matter, and the system prompt below.
 *
 * @throws {UsageError} when the file cannot be read, or is not trusted.
 * @throws {InvalidInputError} with the file's name, and everything that is wrong in it.
 */
export async function openAgent(file: string, options: OpenAgentOptions = {}): Promise<OpenAgent> {
  try {
    return await open(file, options);
  } catch (cause) {
    // The other files that count have errors with their own names.
    const isOfFile = InvalidInputError.isInstance(cause) && cause.subject === 'agent configuration';
    if (!isOfFile && !HarnessConfigError.isInstance(cause)) throw cause;
    const isOption = options.model !== undefined && cause.issues.every(({ path }) => path === 'model');
    const isKey = cause.issues.some(({ message }) => message.startsWith('unknown key'));
    const remedy = isKey ? `${X} schema prints all keys.` : '';
    throw isOption
      ? new InvalidInputError(
          '--model',
          cause.issues.map((issue) => ({ ...issue, path: '' })),
          { cause },
        )
      : new InvalidInputError(file, cause.issues, { cause, remedy });
  }
}

async function open(file: string, options: OpenAgentOptions): Promise<OpenAgent> {
  const {
    model,
    project = process.cwd(),
    servers = [],
    allowAll = false,
    environment = process.env,
    warn = (message: string) => void process.stderr.write(`${message}\n`),
  } = options;
  const directory = dirname(resolve(file));
  const content = await readConfig(file);
  const config = inProject(content, directory, project, servers);
  const closers: (() => Promise<void>)[] = [];
  let opened: SessionStore | undefined;
  const openSessions = async (values: StoreValues): Promise<SessionStore> => {
    const { store, close } = await openStore(values, { readOnly: false, createTables: true, warn });
    closers.push(close);
    opened = store;
    return store;
  };
  // The names that were made, not those that are written: a variable may stand for a name.
  const made = new Set<string>();
  const written = model === undefined ? config : { ...config, model };
  const first = parseAgentConfig(written, { environment });
  await requireTrust(file, content, options.trust);
  const { id } = first.model;
  const read = await besideOf(directory, id.slice(0, id.indexOf(':') + 1), environment, warn);
  const whole = withCompaction(written, first, read, warn);
  const parsed = parseAgentConfig(whole, { environment });
  const beside: Beside = {
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
      registry: createRegistry(environment, beside, { allowAll, made: (name) => made.add(name) }),
    },
    { environment, directory },
  );
  // What requests and compactions cost is counted, and what happened is kept, for those who ask.
  const events = eventLog();
  builder.use(events, ...defaultsBeside(made, await pricesOf(parsed), allowAll));
  const agent = builder.build();
  for (const problem of await problemsOf(file, agent, parsed, made)) warn(problem);
  return {
    agent,
    model: id,
    capabilities: [...made],
    events,
    store: opened ?? new WorkspaceSession(agent.storage),
    async close() {
      await agent.close();
      for (const close of closers) await close();
    },
  };
}

/** Returns the capabilities that an agent has although its file does not name them. */
function defaultsBeside(
  made: ReadonlySet<string>,
  prices: Awaited<ReturnType<typeof pricesOf>>,
  allowAll: boolean,
): readonly Capability[] {
  const acts = ACTING.some((name) => made.has(name));
  return [
    ...(made.has('budget') ? [] : [budget({ maxTokensPerSession: Number.MAX_SAFE_INTEGER, prices })]),
    ...(made.has('permissions') || !acts ? [] : [permissions({ mode: allowAll ? 'bypass' : 'default' })]),
  ];
}

/** The prices of providers' own models. What a server of one's own calls by such a name may cost nothing. */
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

/** Adds the workspace and the MCP servers of the project in which an agent works to what its file says. */
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

/** Finds what an agent's file, and those of its subagents, say without effect. */
async function problemsOf(
  file: string,
  agent: HarnessAgent,
  parsed: AgentConfig,
  made: ReadonlySet<string>,
): Promise<readonly string[]> {
  const reduces = made.has('compaction') || made.has('infinity_context');
  const idle = (reduces ? [] : forCompaction(parsed)).map(
    (key) => `${file}: ${key} does nothing: the agent has no compaction; add "compaction" to capabilities`,
  );
  // In a tree of its own a session sees none of these files.
  if (!made.has('subagents') || OF_ITS_OWN.includes(parsed.settings.isolation)) return idle;
  const { config } = parsed.capabilities.findLast(({ ref }) => ref === 'subagents') ?? {};
  const read = subagentFileProblems(agent.workspace, config);
  const problems = await read.catch((error: unknown) => [errorText(error)]);
  return [...idle, ...problems.map((problem) => `subagents: ${oneLine(problem)}`)];
}

/** Names what a file says that only a compaction reads. */
function forCompaction({ model, fallback, capabilities }: AgentConfig): readonly string[] {
  const isNative = [model, ...fallback].some(({ nativeCompaction }) => nativeCompaction === 'auto');
  const hooks = capabilities.flatMap(({ ref, config }) => (ref === 'hooks' ? config : []));
  const events = hooks.flatMap((config) => Object.keys(Object(config ?? {})));
  return [
    ...(isNative ? ['native_compaction: auto'] : []),
    ...events.filter((event) => event.endsWith('_compaction')).map((event) => `hooks.${event}`),
  ];
}

/** Keeps what an agent stores out of git: sessions are nothing to commit. */
export async function keepOutOfGit({ storage }: HarnessAgent): Promise<void> {
  if (!(await storage.stat('.gitignore'))) await storage.write('.gitignore', '*\n');
}

type Config = Readonly<Record<string, unknown>>;

/** The most that a name of a server may have. */
const NAME_CHARS = 32;

/** Adds servers to those of a file. One whose name is taken is numbered: `github` beside `github` is `github_2`. */
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
 * Servers whose programs start in this folder, unless they name another from there: in one that the agent works on, `npx`
 * and the like would take a program that lies there.
 */
function startedIn(
  folder: string,
  servers: readonly (readonly [name: string, server: unknown])[],
): readonly (readonly [name: string, server: unknown])[] {
  return servers.map(([name, server]) => {
    if (!isObject(server as JsonValue)) return [name, server];
    const { command, cwd = '.' } = server as { readonly command?: unknown; readonly cwd?: unknown };
    // A variable is looked up later, and names a whole path.
    const starts = command !== undefined && typeof cwd === 'string' && !cwd.startsWith('${');
    return [name, starts ? { ...(server as object), cwd: resolve(folder, cwd) } : server];
  });
}

/** Adds the compaction that Aura's keys beside an agent switch on, as they do in Aura; warns of any other that the agent does not name. */
function withCompaction(
  written: Config,
  { capabilities }: AgentConfig,
  { compaction: file, compactionFile = '' }: Beside,
  warn: (message: string) => void,
): Config {
  const named = capabilities.map(({ ref }) => ref);
  const isSaid = named.includes('compaction') || Object.hasOwn(Object(written.features), 'compaction');
  if (file === undefined || isSaid) return written;
  const isAura = parseCompactionConfig(file, compactionFile).options.preset === 'aura';
  if (isAura && !named.includes('infinity_context')) {
    return { ...written, features: { ...Object(written.features), compaction: true } };
  }
  warn(
    `${compactionFile}: does nothing: the agent names no compaction. Write features: { compaction: true }.`,
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
  throw new UsageError(`${file} must hold a mapping, with at least "model".`);
}

/** Takes a capability that stands in a file by itself, as Everruns publishes them, for the agent's one. */
function withCapability(written: object): Config {
  const { ref, config, ...rest }: Config = { ...written };
  if (typeof ref !== 'string' || rest.capabilities !== undefined) return { ...written };
  return { ...rest, capabilities: [config === undefined ? ref : { ref, config }] };
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
