// For authors of session stores and workspaces.
export { fileSegment } from './lib/encode-segment.js';
export { asCollection, collectionName, filledCollections } from './sessions/collections.js';
export { sessionPrefix } from './sessions/files/session-files.js';
export {
  describeSession,
  type ListedSession,
  type ListPosition,
  listAll,
  listPages,
  type UnreadableSession,
} from './sessions/listing.js';
export { checkKey, checkScope } from './sessions/session-key.js';
export {
  claimText,
  type HeldLease,
  heldLease,
  type LeaseClaim,
  type ProcessNote,
  type ProcessRecord,
  type SessionLeases,
  type SessionProcesses,
} from './sessions/session-leases.js';
export type {
  DeleteOptions,
  ListOptions,
  LoadOptions,
  SessionChange,
  StoredSession,
} from './sessions/session-store.js';
export {
  type Committed,
  checkChange,
  checkCommit,
  conflict,
  isAnother,
  isKept,
  lastOf,
  lastOption,
  leaseLost,
  operationId,
  remember,
  tokenOf,
} from './sessions/store-rules.js';
export { type LeaseOperation, wrapLeases, wrapStore } from './sessions/wrappers/wrap-store.js';
export { type HeldLock, pathSegments, type WorkspaceEntry } from './workspace/workspace.js';
