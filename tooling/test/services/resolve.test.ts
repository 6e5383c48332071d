import { afterEach, expect, test, vi } from 'vitest';
import { findProgram } from '../../services/find-program.js';
import { resolve, type Strategy, strategies } from '../../services/resolve.js';
import { existing, type Service } from '../../services/service.js';

const service: Service = {
  name: 'Imaginary',
  variable: 'X_IMAGINARY_URL',
  example: 'imaginary://127.0.0.1',
  programs: ['x-imaginary-server', 'node'],
  debianPackages: ['imaginary-server'],
  homebrewFormula: 'imaginary',
  fromProgram: async (path) => existing(path),
};

const closed = (name: string): Strategy => ({
  name,
  attempt: async () => {
    throw new Error(`${name} is closed`);
  },
});

afterEach(() => {
  vi.unstubAllEnvs();
});

test('what the environment names is used as it is, before anything is looked for', async () => {
  vi.stubEnv('X_IMAGINARY_URL', 'imaginary://elsewhere:1');
  expect((await resolve(service)).address).toBe('imaginary://elsewhere:1');
});

test('then an installed program, by whichever of its names', async () => {
  expect((await resolve(service)).address).toBe(findProgram(['node']));
});

test('the first way that is open is taken', async () => {
  const open = (address: string): Strategy => ({ name: address, attempt: async () => existing(address) });
  expect((await resolve(service, [closed('a'), open('b'), open('c')])).address).toBe('b');
  expect(strategies.map(({ name }) => name)).toEqual(['environment', 'installed program', 'apt-get']);
});

test('when every way is closed, the error says why and what to do', async () => {
  const error = await resolve(service, [closed('a'), closed('b')]).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(AggregateError);
  expect(String(error)).toContain('need Imaginary');
  expect(String(error)).toContain('- a: a is closed\n  - b: b is closed');
  expect(String(error)).toContain('apt-get install --no-install-recommends imaginary-server');
  expect(String(error)).toContain('X_IMAGINARY_URL=imaginary://127.0.0.1');
});
