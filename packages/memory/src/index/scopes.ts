const PREFIX = /^(?:tenants\/[^/]+\/)?(?:users\/[^/]+\/)?(?:agents\/[^/]+\/)?/;
/** Maximum number of lines per scope, over all time. Ids of two million scopes fit into JavaScript's safe integers. */
const SCOPE_SIZE = 2 ** 32;

/** Returns the scope of a file: the directory of its tenant, user and agent. Lines of different scopes are ranked separately. */
export function scopeOfPath(path: string): string {
  return PREFIX.exec(path)?.[0] ?? '';
}

/** Returns the id range of a scope's lines. Newer lines have higher ids. */
export function idsOfScope(scopeId: number) {
  return { first: scopeId * SCOPE_SIZE, last: (scopeId + 1) * SCOPE_SIZE - 1 };
}
