import type { Running } from './service.js';
import { untilReady } from './until-ready.js';

/** How to run a server in a container. */
export interface Container {
  readonly image: string;
  readonly port: number;
  readonly environment?: Readonly<Record<string, string>>;
  url(host: string, port: number): string;
  /** Rejects until the server at this URL answers. */
  ping(url: string): Promise<void>;
}

/**
 * Starts a container through Docker; Testcontainers removes it even when this process is killed.
 *
 * @throws {Error} when there is no container runtime or the image cannot be had.
 */
export async function startContainer(recipe: Container): Promise<Running> {
  const { GenericContainer } = await import('testcontainers');
  const container = await new GenericContainer(recipe.image)
    .withEnvironment(recipe.environment ?? {})
    .withExposedPorts(recipe.port)
    .start();
  const address = recipe.url(container.getHost(), container.getMappedPort(recipe.port));
  const stop = async () => {
    await container.stop();
  };
  try {
    await untilReady(() => recipe.ping(address));
  } catch (error) {
    await stop();
    throw error;
  }
  return { address, stop };
}
