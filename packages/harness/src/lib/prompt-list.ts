import { headOf } from '@x/core/internal';

/** Something that a system prompt offers a model by its name. */
interface Listed {
  readonly name: string;
  /** When to use it. */
  readonly description: string;
}

/**
 * A list for a system prompt, a line each: with descriptions as long as there is room for them, then by name, and of what is left
 * the number. A description is one line, whatever a file says.
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
