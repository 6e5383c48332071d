import { calcPrice } from '@pydantic/genai-prices';
import type { Prices } from '@x/replay';

/** Tokens on which prices are looked up: few enough for the cheapest tier of models that have several. */
const PROBE = 1_000;

/** Looks up what a million tokens of a model cost in US dollars. `undefined` for a model that the table does not know. */
export function modelPrices(model: string): Prices | undefined {
  const cost = (usage: Parameters<typeof calcPrice>[0]) => lookUp(usage, model)?.total_price;
  const input = cost({ input_tokens: PROBE });
  const output = cost({ output_tokens: PROBE });
  if (input === undefined || output === undefined) return undefined;
  const million = (price: number) => (price * 1_000_000) / PROBE;
  return {
    input: million(input),
    cachedInput: million(cost({ input_tokens: PROBE, cache_read_tokens: PROBE }) ?? input),
    cacheWrite: million(cost({ input_tokens: PROBE, cache_write_tokens: PROBE }) ?? input),
    output: million(output),
  };
}

/** Looks up how many tokens a model takes. `undefined` for a model of which the table does not say. */
export function modelWindow(model: string): number | undefined {
  return lookUp({ input_tokens: PROBE }, model)?.model.context_window;
}

function lookUp(usage: Parameters<typeof calcPrice>[0], model: string): ReturnType<typeof calcPrice> {
  // Gateways put the provider in front, as in `anthropic/claude-sonnet-4-5`.
  return calcPrice(usage, model.split(/[/:]/).at(-1) ?? model);
}
