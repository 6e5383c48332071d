import { describe, expect, it } from 'vitest';
import { shellFiles } from '../../src/ledger/shell-files.js';

describe('shellFiles', () => {
  it.each([
    ['cat src/a.ts', ['src/a.ts']],
    ["sed -n '1,200p' packages/core/src/index.ts", ['packages/core/src/index.ts']],
    ['head -n 20 "README.md" && tail -5 /etc/hosts', ['README.md', '/etc/hosts']],
    ['nl -ba lib/x.py | sed -n 10,20p', ['lib/x.py']],
  ])('finds what is read, and nothing else to be said: %s', (command, read) => {
    expect(shellFiles(command)).toEqual({ read, written: [], onlyReads: true });
  });

  it.each([
    ['npm test', [], []],
    ['cd app && cat src/a.ts', ['src/a.ts'], []],
    ['cat a.txt b.txt > all.txt', ['a.txt', 'b.txt'], ['all.txt']],
    ["cat > notes.md <<'EOF'\ncat secret.txt\nEOF", [], ['notes.md']],
    ['cat src/a.ts 2>/dev/null || echo none > /dev/null', ['src/a.ts'], []],
    ['cat src/*.ts $FILE', [], []],
    ["sed -i 's/a/b/' src/a.ts", [], []],
    ['rg "cat src/a.ts" src', [], []],
  ])('tells reads from writes and from all else: %s', (command, read, written) => {
    expect(shellFiles(command)).toEqual({ read, written, onlyReads: false });
  });

  it('takes time in proportion to the command', () => {
    // Of this process alone: what others do meanwhile must not count.
    const before = process.cpuUsage();
    expect(shellFiles(`cat a.txt ${'<'.repeat(500_000)}`).read).toEqual(['a.txt']);
    expect(process.cpuUsage(before).user).toBeLessThan(10_000_000);
  });
});
