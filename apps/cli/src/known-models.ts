import { calcPrice } from '@pydantic/genai-prices';
import type { Prices } from '@x/replay';

/** Number of tokens for price look-ups. If a model has price tiers, this number is in the cheapest one. */
const PROBE = 1_000;

/** Looks up a model's prices per million tokens in US dollars. Returns `undefined` for an unknown model. */
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

/** Looks up a model's context window in tokens. Returns `undefined` if it is unknown. */
export function modelWindow(model: string): number | undefined {
  return lookUp({ input_tokens: PROBE }, model)?.model.context_window;
}

function lookUp(usage: Parameters<typeof calcPrice>[0], model: string): ReturnType<typeof calcPrice> {
  // Gateways prefix the provider, as in `anthropic/claude-sonnet-4-5`.
  return calcPrice(usage, model.split(/[/:]/).at(-1) ?? model);
}
