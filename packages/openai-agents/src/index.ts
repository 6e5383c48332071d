export { AgentsSession, type AgentsSessionOptions, type KeyOfRun } from './agents-session.js';
export type { HistoryTransaction, HistoryTransactionArgs } from './history-changes.js';
