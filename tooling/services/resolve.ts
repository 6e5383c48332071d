import type { Running, Service } from './service.js';
import { type Strategy, strategies } from './strategies.js';

/**
 * Makes a service available by the first strategy that works on this machine.
 *
 * @throws {Error} when none does, with the reason of each and what to install. Tests are never skipped for want of a
 * service: a suite that passes without having talked to its server proves nothing.
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
    ...(service.fromContainer ? ['start Docker'] : []),
    `set ${service.variable}, for example ${service.variable}=${service.example}`,
  ];
  return [
    `These tests need ${service.name}, and this machine has no way to it.`,
    ...reasons.map((reason) => `  - ${reason}`),
    'Do one of these and run them again:',
    ...remedies.map((remedy) => `  * ${remedy}`),
  ].join('\n');
}
