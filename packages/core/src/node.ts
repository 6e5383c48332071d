export { JsonSession } from './sessions/files/json-session.js';
export { WorkspaceSession } from './sessions/files/workspace-session.js';
export {
  readLog,
  readLogLines,
  WorkspaceSessionLog,
} from './sessions/files/workspace-session-log.js';
export { LocalWorkspace } from './workspace/local-workspace.js';
