// Code that the tests of several packages share, but users do not need. Re-exports parts of the testkit that are not public.
export { commitAt } from '../../../packages/testkit/src/commit-at.js';
export {
  assertAccounted,
  assertCurrent,
  assertPaired,
  assertReport,
  assertUntouched,
  assertWellFormed,
} from '../../../packages/testkit/src/compactor-suite/laws.js';
export { randomConversation } from '../../../packages/testkit/src/compactor-suite/random-conversation.js';
export { claimOf, type TakenLease, takeLease } from '../../../packages/testkit/src/take-lease.js';
export { checkTurns, runWriters } from './chaos/run-writers.js';
export { checkPausedHolder, type TurnEvent, type TurnPlan, writeTurns } from './chaos/write-turns.js';
export { chaosModels } from './chaos-models.js';
export { longestPiece } from './longest-piece.js';
export { type SeverableProxy, severableProxy } from './severable-proxy.js';
export { dumpSqlite, openBeside } from './sqlite.js';
export { checkWrongClocks } from './wrong-clocks.js';
