export { type BullmqTaskRunnerOptions, bullmqTaskRunner } from './bullmq-task-runner.js';
