export { SqliteSession, type SqliteSessionOptions } from './sqlite-session.js';
