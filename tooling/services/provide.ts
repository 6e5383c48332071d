import type { ProvidedContext } from 'vitest';
import type { TestProject } from 'vitest/node';
import { resolve } from './resolve.js';
import type { Service } from './service.js';

declare module 'vitest' {
  interface ProvidedContext {
    redisUrl: string;
    redisClusterUrl: string;
    mysqlUrl: string;
    postgresUrl: string;
    chromiumPath: string;
  }
}

/** A Vitest global setup: makes the service available to one project, whose tests `inject(key)` its address. */
export function provide(key: keyof ProvidedContext, service: Service) {
  return async (project: TestProject): Promise<() => Promise<void>> => {
    const running = await resolve(service);
    project.provide(key, running.address);
    return running.stop;
  };
}
