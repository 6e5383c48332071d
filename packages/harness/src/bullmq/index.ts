export { bullmqTaskRunner } from './bullmq-task-runner.js';
