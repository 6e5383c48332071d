import { defineConfig } from 'vitest/config';
import { unitWith } from '../vitest.js';

const SERVICES = { redis: 'redis', mysql: 'mariadb', postgres: 'postgres' } as const;
const name = process.env.X_STORE as keyof typeof SERVICES;
const config = name in SERVICES ? unitWith(SERVICES[name]) : unitWith();

export default defineConfig({
  ...config,
  // The suite uses Vitest's globals.
  test: {
    ...config.test,
    globals: true,
    include: ['validation.ts'],
    server: { deps: { inline: [/checkpoint-validation/] } },
  },
});
