export { PostgresSession, type PostgresSessionOptions } from './postgres-session.js';
