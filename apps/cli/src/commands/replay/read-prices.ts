import { type Prices, parsePrices } from '@x/replay';
import { parse } from 'yaml';
import { readInput } from '../../read-input.js';

/** Parses prices per million tokens: `input=3,output=15`, or the name of a JSON or YAML file with these fields. */
export async function readPrices(argument: string): Promise<Prices> {
  if (!argument.includes('=')) return parsePrices(parse(await readInput(argument)));
  const pairs = argument.split(',').map((pair) => pair.split('=').map((part) => part.trim()));
  return parsePrices(Object.fromEntries(pairs.map(([name, value]) => [name, value ? Number(value) : value])));
}
