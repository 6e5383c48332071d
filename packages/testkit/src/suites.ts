// A separate entry, because the suites load Vitest. `ScriptedModel` works in programs and with other test runners.
export type { AttackedAgent, Attacker } from './attacks/attacker.js';
export { type CompactorSuiteOptions, compactorSuite } from './compactor-suite.js';
export { type IsolationSuiteOptions, isolationSuite } from './isolation-suite.js';
export { type ModelSuiteOptions, modelSuite } from './model-suite.js';
export {
  type PermissionSuiteOptions,
  type PermissionSuiteParts,
  permissionSuite,
} from './permission-suite.js';
export { sessionStoreSuite } from './session-store-suite.js';
export type {
  SessionStoreSuiteOptions,
  StoreSuiteExpiry,
  StoreSuiteFaults,
} from './store-suite/store-suite.js';
export type { SuiteOptOut } from './suite-tests.js';
export type { WorkspaceSuiteOptions } from './workspace-suite/workspace-suite.js';
export { workspaceSuite } from './workspace-suite.js';
