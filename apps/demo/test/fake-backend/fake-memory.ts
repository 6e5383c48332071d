import type { MemoryFile, MemoryLine } from '../../src/page.js';

/** What is remembered, without files. */
export class FakeMemory {
  readonly #files = new Map([
    [
      'MEMORY.md',
      '# Memory\n\n## Preferences\n\n- The user prefers spaces, two of them.\n- Answers should name files and lines.\n\n## Decisions\n\n- Sessions live on Redis; files stay local.\n- A summary must keep the names of files that were changed.\n',
    ],
    ['memory/2026-11-20.md', '- Tests that sleep are not wanted\n- The store of choice is Redis\n'],
    ['memory/2026-11-19.md', '- The window of the guide is 16 000 tokens\n'],
  ]);

  async files(): Promise<readonly MemoryFile[]> {
    return [...this.#files].map(([path, text]) => ({
      path,
      name: path,
      kind: path === 'MEMORY.md' ? ('core' as const) : ('note' as const),
      size: text.length,
      modifiedAt: '2026-11-20T10:00:00.000Z',
    }));
  }

  async search(query: string): Promise<readonly MemoryLine[]> {
    return [...this.#files].flatMap(([path, text]) =>
      text
        .split('\n')
        .flatMap((line, index) =>
          line.toLowerCase().includes(query.toLowerCase())
            ? [{ path, name: path, lineNumber: index + 1, snippet: line }]
            : [],
        ),
    );
  }
}
