export { AgentsSession, type AgentsSessionOptions } from './agents-session.js';
