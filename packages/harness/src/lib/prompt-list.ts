import { headOf } from '@x/core/internal';

/** An item that a system prompt offers to a model by name. */
interface Listed {
  readonly name: string;
  /** When to use it. */
  readonly description: string;
}

/**
 * Renders a list for a system prompt, one line per item. Items have descriptions while these fit into `maxChars`, then
 * only names while these fit, and finally a count of the rest. Puts each description on one line.
 */
export function promptList(listed: readonly Listed[], maxChars: number): readonly string[] {
  let described = maxChars;
  let named = maxChars;
  const lines: string[] = [];
  for (const { name, description } of listed) {
    const line = `- ${name}: ${description.replace(/\s+/g, ' ')}`;
    described -= line.length;
    const shown = described >= 0 ? line : headOf(`- ${name}`, line.length);
    if (described < 0) named -= shown.length;
    if (named < 0) return [...lines, `- … and ${listed.length - lines.length} more`];
    lines.push(shown);
  }
  return lines;
}
