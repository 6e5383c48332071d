import { isDeepStrictEqual } from 'node:util';
import {
  BaseStore,
  getTextAtPath,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
} from '@langchain/langgraph-checkpoint';
import { InvalidInputError, storageOf, type Workspace } from '@x/core';
import { isObject, jsonFault, parseWith, TextScan } from '@x/core/internal';
import { fileSegment } from '@x/core/store';
import * as z from 'zod';
import { exclusively } from '../exclusively.js';
import { memoryQuery } from '../index/query.js';
import { readJson, writeJson } from '../memory-files.js';
import { type MemoryScope, scopePrefix } from '../memory-scope.js';
import { memoryScopeSchema, workspaceSchema } from '../settings.js';

const optionsSchema = z.strictObject({
  workspace: workspaceSchema,
  /** The tenant, user and agent of the items. Items of other scopes cannot be read. Default: no tenant, user or agent. */
  scope: memoryScopeSchema.default({}),
  /** Paths of the fields that a query searches, such as `title` or `chapters[*].text`. Default: all texts. */
  fields: z.array(z.string().min(1)).optional(),
});

/** Options of a `WorkspaceStore`. */
type WorkspaceStoreOptions = z.input<typeof optionsSchema>;

const itemSchema = z.object({
  namespace: z.array(z.string()),
  key: z.string(),
  // A record of zod would lose the key `__proto__`.
  value: z.custom<Record<string, unknown>>(isObject),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  /** The texts that a query searches. */
  texts: z.array(z.string()),
});
type StoredItem = z.output<typeof itemSchema>;
type Found = { readonly path: string; readonly score?: number };

const REMEDY = 'Delete the file: it is not an item of the store.';

/**
 * A LangGraph store in files of a workspace: `graph.compile({ store })`. Each item is a file. A query reads the items of its
 * namespace and ranks them by words, in any language and without embeddings. `MemoryService.erase` of the store's scope
 * deletes the items.
 *
 * @example
 * ```ts
 * const store = new WorkspaceStore({ workspace });
 * await store.put(['alice', 'facts'], 'db', { text: 'The database of Alice is PostgreSQL' });
 * const [best] = await store.search(['alice'], { query: 'which database?' });
 * ```
 */
export class WorkspaceStore extends BaseStore {
  readonly #workspace: Workspace;
  readonly #folder: string;
  readonly #fields: readonly string[] | undefined;

  /** @throws {InvalidInputError} for unknown or invalid options. */
  constructor(options: WorkspaceStoreOptions) {
    super();
    const { workspace, scope, fields } = parseWith(optionsSchema, options, 'WorkspaceStore options');
    this.#workspace = storageOf(workspace);
    this.#folder = `${scopePrefix(scope satisfies MemoryScope)}store/`;
    this.#fields = fields;
  }

  /** Runs a batch of operations. Reads see the state before all writes of the batch. */
  async batch<Operations extends Operation[]>(operations: Operations): Promise<OperationResults<Operations>> {
    const writes = new Map<string, PutOperation>();
    const results = await Promise.all(
      operations.map(async (operation) => {
        if ('namespacePrefix' in operation) return this.#search(operation);
        if (!('namespace' in operation)) return this.#namespaces(operation);
        const path = this.#pathOf(operation.namespace, operation.key);
        if (!('value' in operation)) return this.#read(path).then((item) => item ?? null);
        writes.set(path, operation);
        return undefined;
      }),
    );
    for (const [path, operation] of writes) await this.#put(path, operation);
    return results as OperationResults<Operations>;
  }

  async #put(path: string, { namespace, key, value, index }: PutOperation): Promise<void> {
    const fault = jsonFault(value);
    if (fault)
      throw new InvalidInputError('item', [
        { ...fault, path: ['value', fault.path].filter(Boolean).join('.') },
      ]);
    // A lock needs space, so delete without it. Otherwise a full storage could not be emptied.
    if (value === null) return void (await this.#workspace.delete(path));
    await exclusively(this.#workspace, `store ${path}`, async () => {
      const before = await this.#readStored(path);
      const updatedAt = new Date().toISOString();
      const fields = index === undefined ? this.#fields : index;
      const texts = fields === false ? [] : textsOf(value, fields);
      const item = { namespace, key, value, createdAt: before?.createdAt ?? updatedAt, updatedAt, texts };
      await writeJson(this.#workspace, path, item);
    });
  }

  async #search(operation: SearchOperation): Promise<SearchItem[]> {
    const { namespacePrefix, filter = {}, limit = 10, offset = 0, query } = operation;
    const folder = `${this.#folder}${segments(namespacePrefix)}`;
    const found: SearchItem[] = [];
    for await (const { path, score } of query ? this.#ranked(folder, query) : this.#listed(folder)) {
      const item = await this.#read(path);
      const fits =
        item && Object.entries(filter).every(([field, wanted]) => matches(item.value[field], wanted));
      if (item && fits) found.push(score === undefined ? item : { ...item, score });
      if (found.length >= offset + limit) break;
    }
    return found.slice(offset, offset + limit);
  }

  async *#listed(folder: string): AsyncIterable<Found> {
    const paths: string[] = [];
    for await (const { path, type } of this.#workspace.list(folder.replace(/\/$/, ''), { recursive: true })) {
      if (type === 'file' && path.endsWith('.json')) paths.push(path);
    }
    for (const path of paths.sort()) yield { path };
  }

  /** Yields the items that match a query, best first. */
  async *#ranked(folder: string, query: string): AsyncIterable<Found> {
    const scan = new TextScan<string>(memoryQuery(query));
    for await (const { path } of this.#listed(folder)) {
      const { texts = [] } = (await this.#readStored(path)) ?? {};
      for (const [number, text] of texts.entries()) {
        scan.add({ file: path, number, text, item: path });
      }
    }
    const seen = new Set<string>();
    for (const { item: path, score } of scan.best()) {
      if (seen.has(path)) continue;
      seen.add(path);
      yield { path, score };
    }
  }

  async #namespaces(operation: ListNamespacesOperation): Promise<string[][]> {
    const { matchConditions = [], maxDepth, limit, offset } = operation;
    const found = new Map<string, string[]>();
    for await (const { path } of this.#listed(this.#folder)) {
      const namespace = (await this.#readStored(path))?.namespace ?? [];
      if (!matchConditions.every((condition) => conforms(namespace, condition))) continue;
      const cut = namespace.slice(0, maxDepth);
      found.set(JSON.stringify(cut), cut);
    }
    return [...found.values()].slice(offset, offset + limit);
  }

  async #read(path: string): Promise<Item | undefined> {
    const stored = await this.#readStored(path);
    if (stored === undefined) return undefined;
    const { texts: _, createdAt, updatedAt, ...item } = stored;
    return { ...item, createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) };
  }

  #readStored(path: string): Promise<StoredItem | undefined> {
    return readJson(this.#workspace, path, itemSchema, REMEDY);
  }

  #pathOf(namespace: readonly string[], key: string): string {
    return `${this.#folder}${segments(namespace)}${fileSegment(key)}.json`;
  }
}

/** Returns the folder of a namespace: empty, or ends with `/`. Two namespaces never share a folder. */
function segments(namespace: readonly string[]): string {
  return namespace.map((label) => `${fileSegment(label)}/`).join('');
}

function textsOf(value: unknown, fields: readonly string[] | undefined): string[] {
  if (fields !== undefined) return fields.flatMap((field) => getTextAtPath(value, field));
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null
    ? Object.values(value).flatMap((child) => textsOf(child, undefined))
    : [];
}

const OPERATORS: Readonly<Record<string, (own: unknown, other: unknown) => boolean>> = {
  $eq: isDeepStrictEqual,
  $ne: (own, other) => !isDeepStrictEqual(own, other),
  $gt: (own, other) => Number(own) > Number(other),
  $gte: (own, other) => Number(own) >= Number(other),
  $lt: (own, other) => Number(own) < Number(other),
  $lte: (own, other) => Number(own) <= Number(other),
};

/** Tests whether a field has a value, or passes all of some operators. */
function matches(own: unknown, wanted: unknown): boolean {
  const conditions = typeof wanted === 'object' && wanted !== null ? Object.entries(wanted) : [];
  const isOperators = conditions.length > 0 && conditions.every(([name]) => name in OPERATORS);
  if (!isOperators) return isDeepStrictEqual(own, wanted);
  return conditions.every(([name, other]) => OPERATORS[name]?.(own, other) === true);
}

function conforms(namespace: readonly string[], { matchType, path }: MatchCondition): boolean {
  const start = matchType === 'prefix' ? 0 : namespace.length - path.length;
  return start >= 0 && path.every((label, at) => label === '*' || namespace[start + at] === label);
}
