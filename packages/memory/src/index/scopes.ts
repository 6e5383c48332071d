const PREFIX = /^(?:tenants\/[^/]+\/)?(?:users\/[^/]+\/)?(?:agents\/[^/]+\/)?/;
/** Lines that one scope may hold, longest ago to now. Ids of two million scopes are integers that JavaScript holds exactly. */
const SCOPE_SIZE = 2 ** 32;

/** Whose a file is: the directory of a tenant, user and agent. Lines of different scopes are ranked apart and never meet. */
export function scopeOfPath(path: string): string {
  return PREFIX.exec(path)?.[0] ?? '';
}

/** The ids of a scope's lines, which say whose they are and which are newer. */
export function idsOfScope(scopeId: number) {
  return { first: scopeId * SCOPE_SIZE, last: (scopeId + 1) * SCOPE_SIZE - 1 };
}
