import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { InvalidInputError, parseWith, type SessionStore } from '@x/core';
import { agentFromConfig, type HarnessAgent, type PartReference } from '@x/harness';
import { parseDocument } from 'yaml';
import * as z from 'zod';
import { UsageError } from '../command.js';
import { openStore, type StoreValues } from '../open-store.js';
import { readInput } from '../read-input.js';
import { storeKind, storeNames, storeOfAddress } from '../stores.js';
import { createRegistry } from './capabilities.js';
import { chooseModel } from './choose-model.js';

/** An agent as a file describes it, and what was opened for it. */
export interface OpenAgent {
  readonly agent: HarnessAgent;
  /** Closes the agent first, then connections. */
  close(): Promise<void>;
}

export interface OpenAgentOptions {
  /** In place of the model that the file names. */
  readonly model?: string | undefined;
  /** Default `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** The file of compaction settings for every agent in a directory. */
const COMPACTION_FILE = 'compaction.yaml';

/**
 * Makes the agent of a file. Where its `compaction`, or that of its subagents, says nothing, a `compaction.yaml` beside it
 * counts.
 *
 * @throws {UsageError} when the file cannot be read.
 * @throws {InvalidInputError} or {@link HarnessConfigError} naming everything that is wrong in it.
 */
export async function openAgent(file: string, options: OpenAgentOptions = {}): Promise<OpenAgent> {
  const { model, environment = process.env } = options;
  const config = await readConfig(file);
  const directory = dirname(resolve(file));
  const compactionFile = join(directory, COMPACTION_FILE);
  const compaction = existsSync(compactionFile) ? await readYaml(compactionFile) : undefined;
  const closers: (() => Promise<void>)[] = [];
  const builder = await agentFromConfig(
    model === undefined ? config : { ...config, model },
    {
      model: (reference) => chooseModel(reference, environment),
      session: async (reference): Promise<SessionStore> => {
        const { store, close } = await openStore(addressOf(reference), {
          readOnly: false,
          createTables: true,
        });
        closers.push(close);
        return store;
      },
      registry: createRegistry(environment, compaction),
    },
    { environment, directory },
  );
  const agent = builder.build();
  return {
    agent,
    async close() {
      await agent.close();
      for (const close of closers) await close();
    },
  };
}

async function readConfig(file: string): Promise<Readonly<Record<string, unknown>>> {
  const config = await readYaml(file);
  if (typeof config === 'object' && config !== null && !Array.isArray(config)) return { ...config };
  throw new UsageError(`${file} must hold a mapping, with at least "model".`);
}

async function readYaml(file: string): Promise<unknown> {
  // JSON is YAML too.
  const document = parseDocument(await readInput(file), { logLevel: 'silent' });
  const [error] = document.errors;
  if (error !== undefined) throw new UsageError(`${file} is no YAML: ${error.message}`);
  return document.toJS({ maxAliasCount: 100 });
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
    { path: '', message: `must be ${addresses}; leave it out for files in the workspace` },
  ]);
}
