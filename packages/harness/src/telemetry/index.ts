export { CONVENTIONS_VERSION } from './conventions.js';
export { telemetry } from './telemetry.js';
export type { TelemetryConfig } from './telemetry-config.js';
