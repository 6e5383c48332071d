import { type Message, textOf, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { createCompactor } from '../../src/index.js';
import { lines, round, rounds } from '../build.js';

const recordOf = async (messages: readonly Message[], contextWindow = 32_000) => {
  const outcome = await createCompactor({ contextWindow, model: null, keep: { messages: 1 } }).compact(
    messages,
  );
  return textOf(outcome.messages.find(({ kind }) => kind === 'summary') ?? []).split('\n');
};
const long = rounds(20, () => ({ name: 'survey', output: lines(80) }));

describe('the lines of calls in a record', () => {
  it('tell a path once, and the name of its file from then on, with folders where another file has it', async () => {
    const path = '/home/ann/shop/packages/orders/src/total.ts';
    const edit = (from: string, to: string) =>
      round({ name: 'edit_file', input: { path, old_text: `${from} items`, new_text: `${to} items` } });
    const run = (command: string) => round({ name: 'execute', input: { command }, output: 'exit 0' });
    const commands = [
      'git branch -f agentv/results/v1 origin/agentv/results/v1',
      'git branch -d origin/agentv/results/v1',
      'node packages/orders/src/index.ts',
      'node packages/carts/src/index.ts',
      'node packages/orders/src/index.ts --again',
      'node packages/carts/src/index.ts --again',
    ];
    const record = await recordOf([
      userMessage('Mend the total'),
      ...edit('count the', 'sum up the'),
      ...edit('sum up the', 'sum up all the'),
      ...run(`npx vitest ${path} --run`),
      ...commands.flatMap(run),
      ...long,
    ]);
    const told = record.filter((line) => /^\* r/.test(line));
    expect(told[0]).toContain(path);
    expect(told[1]).toMatch(/^\* r4 edit_file total\.ts, /);
    // A command may be run again: its words stay.
    expect(told[2]).toContain(`execute npx vitest ${path} --run`);
    expect(told.slice(3, 9).map((line) => line.replace(/^.*execute /, ''))).toEqual(commands);
  });

  it('name no file by an ending that another file has, and change no command', async () => {
    const files = ['services/billing/config/prod.env', 'services/auth/config/prod.env'] as const;
    const calls = [
      ...files.map((path) => round({ name: 'read_file', input: { path } })),
      round({ name: 'edit_file', input: { path: files[0], old_text: 'a', new_text: 'b' } }),
      ...[`rm ${files[0]}`, `diff ${files.join(' ')}`, 'cd services && git rm billing/config/prod.env'].map(
        (command) => round({ name: 'execute', input: { command }, output: 'done' }),
      ),
    ];
    const told = (await recordOf([userMessage('Tidy up'), ...calls.flat(), ...long]))
      .filter((line) => /^[*·] r/.test(line))
      .join('\n');
    expect(told).toContain(`execute rm ${files[0]}`);
    expect(told).toContain('git rm billing/config/prod.env');
    expect(told).toContain('edit_file billing/config/prod.env');
    expect(told).not.toMatch(/(?<!config\/)prod\.env/);
  });

  it('know a file by its whole path and by one from a folder on the way', async () => {
    const whole = '/home/ann/code/somewhere/deep/below/the/shop/packages/orders/src/total.ts';
    const record = await recordOf([
      userMessage('Mend the total'),
      ...round({ name: 'read_file', input: { path: whole }, output: lines(20) }),
      ...round({ name: 'execute', input: { command: 'git diff packages/orders/src/total.ts' } }),
      ...round({ name: 'delete_file', input: { path: whole } }),
      ...long,
    ]);
    const told = record.filter((line) => /^[*·] r/.test(line));
    expect(told[0]).toContain(`read_file ${whole}`);
    expect(told[1]).toContain('execute git diff packages/orders/src/total.ts');
    expect(told[2]).toMatch(/^\* r6 delete_file total\.ts/);
  });

  it('keep where there is little room the file, the beginning of what is new, and values without their keys', async () => {
    const edits = rounds(60, (index) => ({
      name: 'edit_file',
      input: {
        path: `/shop/packages/orders/src/part-${index}.ts`,
        old_text: `the sum of all items in cart ${index} before taxes were taken into account by the shop`,
        new_text: `the sum of some items in cart ${index} behind taxes that were taken into account by us`,
      },
    }));
    const gateway = rounds(60, (index) => ({
      name: 'execute',
      input: { server: 'editor', tool: `tool_${index}`, params: { query: `word${index} `.repeat(40) } },
    }));
    const record = await recordOf([userMessage('Go'), ...edits, ...gateway, ...long], 28_000);
    for (let index = 0; index < 60; index++) {
      const edit = record.find((line) => line.includes(`part-${index}.ts`));
      expect(edit).toMatch(/^\* r\d+ edit_file \S+\.ts, \+“some items .+”$/);
      const call = record.find((line) => line.includes(`tool_${index},`));
      expect(call).toContain(`execute editor, tool_${index}, query: word${index}`);
    }
  });

  it('say what the model called a command for, where the command does not fit', async () => {
    const command = (index: number) =>
      `cd /srv/app && FILE=$(ls -t exports/*.json | head -1) && jq '.rows[${index}]' "$FILE"`;
    const runs = rounds(80, (index) => ({
      name: 'bash',
      input: { command: command(index), description: `Show row ${index} of the newest export` },
    }));
    const short = round({
      name: 'bash',
      input: { command: 'make deploy', description: 'Bring the app to production' },
    });
    const record = await recordOf([userMessage('Go'), ...short, ...runs, ...long], 20_000);
    expect(record.find((line) => line.includes(' r2 '))).toBe('* r2 bash make deploy');
    for (let index = 20; index < 80; index++)
      expect(record.some((line) => line.includes(`bash (Show row ${index} of the newest export)`))).toBe(
        true,
      );
  });

  it('tell an empty argument, which is not one that was left out', async () => {
    const add = (remark: string) =>
      round({ name: 'add_row', input: { town: 'Arvik', remark }, output: 'ok' });
    const told = (
      await recordOf([userMessage('Fill the table'), ...add(''), ...add('late'), ...long])
    ).filter((line) => line.includes('add_row'));
    expect(told).toEqual(['* r2 add_row town: Arvik, remark: ""', '* r4 add_row town: Arvik, remark: late']);
  });

  it('tell a refused change and a failed look-up as what they are', async () => {
    const denied = 'Permission denied: the user does not allow edit_file on src/legacy/auth.ts';
    const missing = 'ENOENT: no such file or directory, open src/missing.ts';
    const record = await recordOf([
      userMessage('Never touch src/legacy/auth.ts'),
      ...round({ name: 'edit_file', input: { path: 'src/legacy/auth.ts' }, output: denied, isError: true }),
      ...round({ name: 'read_file', input: { path: 'src/missing.ts' }, output: missing, isError: true }),
      ...long,
    ]);
    const told = record.filter((line) => /^[*·] r/.test(line));
    const about = (file: string) => told.filter((line) => line.includes(file));
    expect(about('auth.ts')).toEqual([expect.stringContaining(`→ failed: “${denied}”`)]);
    expect(about('missing.ts')).toEqual([expect.stringContaining(`→ failed: “${missing}”`)]);
  });

  it('share their room: short ones stay whole where long ones are cut', async () => {
    const short = rounds(60, (index) => ({
      name: 'set_flag',
      input: { flag: `flag-${index}` },
      output: `flag-${index} is on`,
    }));
    const wordy = rounds(60, (index) => ({
      name: 'send_note',
      input: { note: `note ${index}: ${`word${index} `.repeat(40)}` },
      output: `note ${index} sent to ${'everybody '.repeat(10)}`,
    }));
    const record = await recordOf([userMessage('Go'), ...short, ...wordy, ...long], 24_000);
    for (let index = 0; index < 60; index++) {
      const whole = new RegExp(`set_flag flag-${index}(?: |$)`);
      expect(
        record.some((line) => whole.test(line)),
        `${index}`,
      ).toBe(true);
    }
    expect(record.some((line) => /send_note .*…/.test(line))).toBe(true);
  });

  it('tell commands that only print from those that change something', async () => {
    const run = (command: string) => round({ name: 'bash', input: { command }, output: 'exit 0' });
    const record = await recordOf([
      userMessage('Go'),
      ...run('cd /srv && grep -n "a > b" src/a.ts | head -20 2>/dev/null'),
      ...run('grep -c x a.ts > count.txt'),
      ...run('cat $(rm -v a.ts)'),
      ...run('ls src; rm src/a.ts'),
      ...long,
    ]);
    const marks = record.flatMap((line) => (line.includes('bash') ? line.charAt(0) : []));
    expect(marks).toEqual(['·', '*', '*', '*']);
  });
});
