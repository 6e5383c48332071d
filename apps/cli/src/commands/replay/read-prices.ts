import { type Prices, parsePrices } from '@x/replay';
import { parse } from 'yaml';
import { UsageError } from '../../command.js';
import { readInput } from '../../read-input.js';

const NAMES: Readonly<Record<string, string>> = {
  input: 'input',
  output: 'output',
  cached: 'cachedInput',
  cachedInput: 'cachedInput',
  'cache-write': 'cacheWrite',
  cacheWrite: 'cacheWrite',
};

/** `input=3,output=15` or the name of a JSON or YAML file with these fields; for a million tokens. */
export async function readPrices(argument: string): Promise<Prices> {
  return parsePrices(argument.includes('=') ? fromPairs(argument) : parse(await readInput(argument)));
}

function fromPairs(argument: string): Readonly<Record<string, number>> {
  return Object.fromEntries(
    argument.split(',').map((pair) => {
      const [name = '', value = ''] = pair.split('=').map((part) => part.trim());
      const known = Object.hasOwn(NAMES, name) ? NAMES[name] : undefined;
      if (known === undefined || value === '' || Number.isNaN(Number(value))) {
        throw new UsageError(
          `--prices takes ${Object.keys(NAMES).join(', ')} with a number each, as in input=3,output=15; not "${pair}"`,
        );
      }
      return [known, Number(value)];
    }),
  );
}
