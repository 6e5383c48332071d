export { AgentsSession, type AgentsSessionOptions } from './agents-session.js';
export type { HistoryTransaction, HistoryTransactionArgs } from './history-transaction.js';
