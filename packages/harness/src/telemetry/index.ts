export { CONVENTIONS_VERSION } from './conventions.js';
export type { TelemetryConfig } from './telemetry.js';
export { telemetry, traceContext } from './telemetry.js';
