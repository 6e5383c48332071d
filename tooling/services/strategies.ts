import { installDebianPackages } from './debian-packages.js';
import { findProgram } from './find-program.js';
import { existing, type Running, type Service } from './service.js';

/** One way to come by a service. It throws the reason when that way is closed on this machine. */
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
  async attempt(service) {
    return service.fromProgram(findProgram(service.programs));
  },
};

const debianPackage: Strategy = {
  name: 'apt-get',
  async attempt(service) {
    await installDebianPackages(service.debianPackages);
    return service.fromProgram(findProgram(service.programs));
  },
};

const container: Strategy = {
  name: 'Docker',
  async attempt(service) {
    if (service.fromContainer === undefined) throw new Error(`${service.name} is not used from a container`);
    return service.fromContainer();
  },
};

/** The ways to a service, in the order in which they are tried: the cheapest and least intrusive first. */
export const strategies: readonly Strategy[] = [environment, installedProgram, debianPackage, container];

/** Those that start a server of our own, for tests that kill it. */
export const ownServers: readonly Strategy[] = [installedProgram, debianPackage];
