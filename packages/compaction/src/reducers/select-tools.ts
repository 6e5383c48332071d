/** Whether a tool is named by one of the patterns: its name, or a beginning followed by `*`. */
export function matchesTool(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
  );
}
