export { telemetry, traceContext } from './telemetry.js';
