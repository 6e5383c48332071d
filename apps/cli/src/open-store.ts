import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { InMemorySession, InvalidInputError, type SessionStore } from '@x/core';
import { STORAGE } from '@x/core/internal';
import { WorkspaceSession } from '@x/core/node';
import { type Option, shellCommand, UsageError } from './command.js';
import { identityOptions, openWorkspace, workspaceToName } from './identity-options.js';
import {
  addressHint,
  checkedAddress,
  hasSessions,
  type OpenSettings,
  type OpenStore,
  openSessions,
  ownSessionsFile,
  type StoreName,
  sessionsFile,
  storeKind,
  storeNames,
} from './stores.js';

/** Options that name a part of a store, with the stores that support it. */
const parts = new Map<string, { readonly value: string; readonly owners: readonly StoreName[] }>();
for (const name of storeNames) {
  const { part } = storeKind(name);
  if (part === undefined) continue;
  parts.set(part.option, { value: part.value, owners: [...(parts.get(part.option)?.owners ?? []), name] });
}

/** The store options: one for each store, and one for each kind of part, such as a table. */
export const storeOptions: Readonly<Record<string, Option & { readonly type: 'string' }>> =
  Object.fromEntries([
    ...storeNames.map((name) => {
      const { title, value } = storeKind(name);
      return [name, { type: 'string', value, help: `Sessions are in ${title}.` }];
    }),
    ...[...parts].map(([option, { value, owners }]) => [
      option,
      { type: 'string', value, partOf: owners, help: `The ${option.replace('-', ' ')} of the sessions.` },
    ]),
  ]);

/** The options of commands for sessions. */
export const sessionOptions = { ...storeOptions, ...identityOptions } as const;

/** Values of {@link storeOptions} and of `--workspace`. */
export type StoreValues = { readonly workspace: string } & Readonly<Record<string, unknown>>;

/** Returns whether the options name a store. */
export function namesStore(values: StoreValues): boolean {
  return storeNames.some((name) => values[name] !== undefined);
}

/**
 * Opens the store that the options name, or by default this user's store for the workspace: see {@link ownSessionsFile}.
 *
 * @throws {UsageError} for contradictory or invalid options, or a driver that is not installed.
 * @throws {SessionStoreError} if the store cannot be reached.
 */
export async function openStore(
  values: StoreValues,
  options: { readonly readOnly: boolean } & OpenSettings,
): Promise<OpenStore> {
  const name = chosenStore(values);
  if (name === undefined) {
    const file = ownSessionsFile(values.workspace);
    const { warn = (message) => void process.stderr.write(`${message}\n`) } = options;
    if (options.createTables || hasSessions(file)) return openSessions(file, warn);
    // Reading must not create a store.
    openWorkspace(values);
    return { store: new InMemorySession(), close: async () => {} };
  }
  const { part, driver, open } = storeKind(name);
  const address = checkedAddress(name, String(values[name]));
  if (address === undefined) throw new UsageError(`The address of --${name} ${addressHint(name)}.`);
  try {
    const named = part && values[part.option];
    return await installed(driver, () => open(address, { ...options, part: named as string | undefined }));
  } catch (error) {
    if (!InvalidInputError.isInstance(error)) throw error;
    throw new UsageError(`--${part?.option} ${error.issues.map(({ message }) => message).join('; ')}.`);
  }
}

/** Opens the store, passes it to `use`, and closes it afterwards. */
export async function withStore<T>(
  values: StoreValues,
  options: Parameters<typeof openStore>[1],
  use: (store: SessionStore) => Promise<T>,
): Promise<T> {
  const { store, close } = await openStore(values, options);
  try {
    return await use(store);
  } finally {
    await close();
  }
}

/** Returns a hint that the sessions in the workspace itself are skipped, and how to import them. `undefined` if there are none. */
export function skippedHint(workspace: string): string | undefined {
  const folder = join(workspace, STORAGE);
  if (!existsSync(folder)) return undefined;
  const copy = shellCommand(['sessions', 'copy'], { workspace: workspaceToName(workspace) });
  return (
    `Sessions in ${folder} are skipped, because anyone who can write to the workspace could have planted one. ` +
    `Import your own with ${copy}.`
  );
}

/** Opens the sessions in the workspace itself. Only `x sessions copy` reads them. */
export async function openSkipped(values: StoreValues): Promise<OpenStore> {
  const file = sessionsFile(values.workspace);
  if (existsSync(file)) return storeKind('sqlite').open(file, {});
  return { store: new WorkspaceSession(openWorkspace(values)), close: async () => {} };
}

function chosenStore(values: StoreValues): StoreName | undefined {
  const named = storeNames.filter((name) => values[name] !== undefined);
  if (named.length > 1) {
    const options = named.map((name) => `--${name}`).join(' and ');
    throw new UsageError(`${options} select different stores. Use only one of them.`);
  }
  for (const [option, { owners }] of parts) {
    if (values[option] === undefined || owners.some((name) => name === named[0])) continue;
    const needed = owners.map((name) => `--${name} ${storeKind(name).value}`).join(' or ');
    throw new UsageError(`--${option} needs ${needed}.`);
  }
  return named[0];
}

/** Loads optional packages. If one is missing, the error names the package to install. */
export async function installed<T>(driver: string | undefined, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
    throw new UsageError(`This store needs a package that is not installed: npm install ${driver}`);
  }
}
