/** A conversation as Chat Completions has it: so many files are read, and the first is asked about at the end. */
export function recordedLog(files: number): string {
  const read = (path: string, id: string) => ({
    role: 'assistant',
    content: `I read ${path}.`,
    tool_calls: [
      { id, type: 'function', function: { name: 'read_file', arguments: JSON.stringify({ path }) } },
    ],
  });
  const steps = Array.from({ length: files }, (_, index) => [
    read(`src/module-${index}.ts`, `call-${index}`),
    {
      role: 'tool',
      tool_call_id: `call-${index}`,
      content: Array.from(
        { length: 40 },
        (_, line) => `export const value${index}x${line} = ${index * line};`,
      ).join('\n'),
    },
  ]);
  return JSON.stringify([
    { role: 'user', content: 'Read the modules.' },
    ...steps.flat(),
    read('src/module-0.ts', 'call-again'),
    { role: 'tool', tool_call_id: 'call-again', content: 'export const value0x0 = 0;' },
    { role: 'assistant', content: 'Done.' },
  ]);
}
