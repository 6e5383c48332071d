import { compactionFactories } from '@x/compaction';
import { CapabilityRegistry } from '@x/harness';

/** The capabilities that files can name. */
export function createRegistry(): CapabilityRegistry {
  const registry = new CapabilityRegistry();
  for (const [name, factory] of Object.entries(compactionFactories)) registry.register(name, factory);
  return registry;
}
