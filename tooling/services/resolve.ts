import { installDebianPackages } from './debian-packages.js';
import { findProgram } from './find-program.js';
import { existing, type Running, type Service } from './service.js';

/** One way to get a service. If it is not possible on this machine, `attempt` rejects with the reason. */
export interface Strategy {
  readonly name: string;
  attempt(service: Service): Promise<Running>;
}

const environment: Strategy = {
  name: 'environment',
  async attempt({ variable }) {
    const address = process.env[variable];
    if (!address) throw new Error(`${variable} is not set`);
    return existing(address);
  },
};

const installedProgram: Strategy = {
  name: 'installed program',
  attempt: async (service) => service.fromProgram(findProgram(service.programs)),
};

const debianPackage: Strategy = {
  name: 'apt-get',
  async attempt(service) {
    await installDebianPackages(service.debianPackages);
    return installedProgram.attempt(service);
  },
};

/** The strategies in the order in which they are tried: the cheapest and least intrusive first. */
export const strategies: readonly Strategy[] = [environment, installedProgram, debianPackage];

/** Strategies that start a private server, for tests that kill it. */
export const ownServers: readonly Strategy[] = [installedProgram, debianPackage];

/**
 * Makes a service available by the first strategy that works on this machine.
 *
 * @throws {AggregateError} if no strategy works, with the reason of each and how to install the service. Tests are never
 * skipped because a service is missing: a suite that passes without its server proves nothing.
 */
export async function resolve(
  service: Service,
  candidates: readonly Strategy[] = strategies,
): Promise<Running> {
  const reasons: string[] = [];
  const causes: unknown[] = [];
  for (const { name, attempt } of candidates) {
    try {
      return await attempt(service);
    } catch (error) {
      reasons.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      causes.push(error);
    }
  }
  throw new AggregateError(causes, unavailable(service, reasons));
}

function unavailable(service: Service, reasons: readonly string[]): string {
  const remedies = [
    `apt-get install --no-install-recommends ${service.debianPackages.join(' ')}   (Debian, Ubuntu)`,
    `brew install ${service.homebrewFormula}   (macOS)`,
    `set ${service.variable}, for example ${service.variable}=${service.example}`,
  ];
  return [
    `These tests need ${service.name}, which cannot be started on this machine:`,
    ...reasons.map((reason) => `  - ${reason}`),
    'Do one of the following, and run the tests again:',
    ...remedies.map((remedy) => `  * ${remedy}`),
  ].join('\n');
}
