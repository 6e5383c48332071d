import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as soon } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeTerminal } from '../support/fake-terminal.js';
import { main, runCommand } from '../support/run-command.js';
import { type Answer, type FakeEndpoint, fakeEndpoint } from './fake-endpoint.js';

let directory: string;
let endpoint: FakeEndpoint;
const opened: (() => Promise<void>)[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'x-terminal-'));
});
afterEach(async () => {
  for (const end of opened.splice(0)) await end();
  rmSync(directory, { recursive: true, force: true, maxRetries: 20 });
});

const AGENT = `
name: coder
model: { id: compatible:fake, context_window: 20000 }
capabilities: [compaction, workspace_tools, plan_mode]
`;

/** Runs `x run` on a pseudo-terminal of 80 columns, which the system's own program `script` makes. */
async function open(answers: readonly Answer[], options = '', columns = 80, more = '') {
  endpoint = await fakeEndpoint(answers);
  opened.push(endpoint.close);
  writeFileSync(join(directory, 'agent.yaml'), AGENT + more);
  const line = `stty cols ${columns} rows 24; exec '${process.execPath}' '${main}' run ${options}`;
  const args =
    process.platform === 'darwin' ? ['-q', '/dev/null', 'sh', '-c', line] : ['-qfec', line, '/dev/null'];
  const env = {
    ...process.env,
    HOME: directory,
    OPENAI_BASE_URL: endpoint.url,
    OPENAI_API_KEY: 'key',
    NO_COLOR: '1',
  };
  const child = spawn('script', args, { cwd: directory, env });
  const terminal = new FakeTerminal(columns);
  child.stdout.setEncoding('utf8').on('data', (text: string) => terminal.write(text));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  opened.push(() => {
    child.kill();
    return ended;
  });
  return {
    terminal,
    press: (keys: string) => void child.stdin.write(keys),
    seen: (text: string | RegExp) =>
      vi.waitFor(() => expect(terminal.text).toMatch(text), {
        timeout: 60_000,
        interval: 20,
      }),
    ended,
  };
}

describe('x run on a terminal', () => {
  it('asks once whether it may start what the file names, and goes on to the chat', async () => {
    const hook = 'hooks: { before_compaction: "true" }\n';
    const refused = await open([], '', 200, hook);
    await refused.seen(/hooks\.before_compaction: "true"\nTrust it\? \(y\/n\)/);
    refused.press('n\r');
    await refused.ended;
    expect(refused.terminal.text).toContain('x run agent.yaml --trust');
    const trusted = await open([{ text: 'Hello.' }], '', 200, hook);
    await trusted.seen(/Trust it\? \(y\/n\)/);
    trusted.press('y\r');
    await trusted.seen(/new session/);
    trusted.press('Hi\r');
    await trusted.seen(/Hello\./);
    trusted.press('\u0004');
    await trusted.ended;
    const again = await open([], '', 200, hook);
    await again.seen(/new session/);
    expect(again.terminal.text).not.toContain('Trust it?');
    again.press('\u0004');
    await again.ended;
  });

  it.skipIf(spawnSync('bwrap', ['--unshare-all', '--ro-bind', '/', '/', 'true']).status !== 0)(
    'says that commands run in a sandbox, and how to turn it off',
    async () => {
      const line = /Commands run in a sandbox: no network, and a new \/tmp/;
      const { seen } = await open([], '--trust --dangerously-allow-all', 200, 'features: { shell: true }\n');
      await seen(line);
      await seen('{ ref: shell, config: { sandbox: none } }');
      const narrow = await open([], '--trust', 40, 'features: { shell: true }\n');
      await narrow.seen(/no network,\nand a new \/tmp/);
      const off = await open([], '--trust', 200, 'features: { shell: { sandbox: none } }\n');
      await off.seen('new session');
      expect(off.terminal.text).not.toMatch(line);
    },
  );

  it('keeps the line that is typed below everything that is printed', async () => {
    let go = () => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    const { terminal, press, seen, ended } = await open([
      { text: 'one two three', until: held },
      { text: 'Short.' },
    ]);
    await seen(/coder · new session [\w-]+ · \/help lists commands\n> ?\ncompatible:fake/);
    press('Count\r');
    await seen(/> Count\none two\n[\s\S]*working \d+ s, Esc stops/);
    press('SAY al');
    await seen(/one two\n> SAY al\nworking/);
    press('so look\r');
    await seen(/queued: SAY also look\n> ?\n/);
    press('half');
    await seen('> half');
    go();
    await seen(
      /one two three\n> SAY also look\nShort\.\n[^\n]*tokens in[^\n]*\n> half\ncompatible:fake · \d+ % of 20k$/,
    );
    expect(terminal.typed).toBe('> half');
    press('\u0003');
    await seen(/\n>\ncompatible/);
    press('\u0004');
    await ended;
    // Nothing of the input is left below it.
    expect(terminal.text).toMatch(/Go on with: x run agent\.yaml --session [\w-]+\n$/);
    expect(endpoint.requests.at(-1)?.at(-1)).toMatchObject({ role: 'user', content: 'SAY also look' });
  });

  it('keeps every line that is typed when Ctrl-C stops the call, and says how on 40 columns', async () => {
    const { press, seen } = await open([{ text: 'one two', until: new Promise(() => {}) }], '', 40);
    await seen('compatible:fake');
    press('Count\r');
    await seen(/\nworking \d+ s, Esc stops · /);
    press('first\u001B\r');
    await seen(/> first\n\n/);
    press('second');
    await seen(/> first\nsecond\n/);
    press('\u0003');
    await seen(/interrupted\n> first\nsecond\ncompatible:fake/);
  });

  it('approves by one key, with the difference, and words a denial for people', async () => {
    writeFileSync(join(directory, 'calc.mjs'), 'export const add = (a, b) => a - b;\n');
    const edit = { call: 'edit_file', input: { path: 'calc.mjs', oldText: 'a - b', newText: 'a + b' } };
    const { terminal, press, seen } = await open([edit, { text: 'As you wish.' }, edit, { text: 'Done.' }]);
    await seen('compatible:fake');
    press('Fix it\r');
    await seen(
      /It wants to edit calc\.mjs\.[\s\S]*\n- a - b\n\+ a \+ b\n[\s\S]*Let it edit calc\.mjs\? \(y yes · n no · w no, and why/,
    );
    // More than one key is a text, which nobody meant for an answer.
    press('yes but use tabs\r');
    await seen('Nothing is decided yet');
    press('n');
    await seen(/✗ You denied this call · edit_file calc\.mjs[\s\S]*As you wish\./);
    expect(terminal.text).not.toContain('Do not try');
    expect(readFileSync(join(directory, 'calc.mjs'), 'utf8')).toContain('a - b');
    press('Now do\r');
    await vi.waitFor(() => expect(terminal.text.split('It wants to edit')).toHaveLength(3), {
      timeout: 60_000,
    });
    await soon();
    press('y');
    await seen('Done.');
    expect(readFileSync(join(directory, 'calc.mjs'), 'utf8')).toContain('a + b');
  });

  it('sends what is pasted when Enter is pressed, however it is split', async () => {
    const { press, seen } = await open([{ text: 'Read.' }]);
    await seen('compatible:fake');
    press('\u001B[200~first\r');
    await seen('> first\n');
    press('second\rthird\r\u001B[201~');
    await seen(/> first\nsecond\nthird\n\ncompatible/);
    expect(endpoint.requests).toHaveLength(0);
    press('\r');
    await seen('Read.');
    expect(endpoint.requests[0]?.at(-1)).toMatchObject({ content: 'first\nsecond\nthird\n' });
  });

  it('tells the model with the next message where its answer broke off, unless it answers again', async () => {
    const broken = [{ cut: 'The first half' }, { status: 401 }];
    const { press, seen } = await open([
      ...broken,
      { text: 'Go on.' },
      ...broken,
      { text: 'Whole.' },
      { text: 'Fine.' },
    ]);
    await seen('compatible:fake');
    press('Why?\r');
    await seen(/The first half\nThe answer above was interrupted\.\n[\s\S]*instead, the model sees/);
    press('And?\r');
    await seen('Go on.');
    const contents = () => endpoint.requests.at(-1)?.map(({ content }) => content);
    expect(contents()).toEqual(['Why?', 'The first half\n[The answer was interrupted here.]', 'And?']);
    press('More\r');
    await seen(/Go on\.[\s\S]*instead, the model sees/);
    press('/resume\r');
    await seen('Whole.');
    press('Good\r');
    await seen('Fine.');
    expect(contents()?.slice(4)).toEqual(['More', 'Whole.', 'Good']);
  });

  it('starts a new line on Alt+Enter and on a backslash with Enter', async () => {
    const { press, seen } = await open([{ text: 'Read.' }, { text: 'Short.' }, { text: 'Again.' }]);
    await seen('compatible:fake');
    press('first\u001B\r');
    await seen(/> first\n\n/);
    press('second\\');
    await seen(/\nsecond\\\n/);
    press('\r');
    await seen(/\nsecond\n\n/);
    press('third');
    await seen(/\nthird\n/);
    press('\r');
    await seen('Read.');
    expect(endpoint.requests[0]?.at(-1)).toMatchObject({ content: 'first\nsecond\nthird' });
    // The arrow keys bring back the whole texts.
    press('Hi\r');
    await seen('Short.');
    press('\u001B[A');
    await seen(/> Hi\ncompatible/);
    press('\u001B[A');
    await seen(/> first\nsecond\nthird\ncompatible/);
    press('!\r');
    await seen('Again.');
    expect(endpoint.requests[2]?.at(-1)).toMatchObject({ content: 'first\nsecond\nthird!' });
  });

  it('shows the modes of a session, also when it is continued', async () => {
    const first = await open([], '-s s-1');
    await first.seen(/> ?\ncompatible:fake$/);
    first.press('/permissions accept_edits\r');
    await first.seen(/\ncompatible:fake · accept_edits mode$/);
    first.press('/plan on\r');
    await first.seen(/\ncompatible:fake · plan mode · accept_edits mode$/);
    first.press('/exit\r');
    await first.ended;
    const again = await open([], '-s s-1');
    await again.seen(/session is in plan mode and accept_edits mode; \/permissions and/);
    again.press('/exit\r');
    await again.ended;
    const all = await open([], '--dangerously-allow-all');
    await all.seen(/\ncompatible:fake · bypass mode$/);
  });

  it('inserts characters that arrive together at the cursor', async () => {
    const { press, seen } = await open([{ text: 'Read.' }]);
    await seen('compatible:fake');
    press('read it\u0001');
    await seen(/> read it\n/);
    press('Do ');
    await seen(/> Do read it\n/);
    press('\u001B[200~please \u001B[201~');
    await seen(/> Do please read it\n/);
    press('漢字 ');
    await seen(/> Do please 漢字 read it\n/);
    press('\r');
    await seen('Read.');
    expect(endpoint.requests[0]?.at(-1)).toMatchObject({ content: 'Do please 漢字 read it' });
  });

  it('lists sessions to go on with', async () => {
    const first = await open([{ text: 'Hello.' }, { text: 'Again.' }], '-s s-1');
    await first.seen('new session s-1');
    first.press('Good morning\r');
    await first.seen('Hello.');
    first.press('/exit\r');
    await first.ended;
    const { url } = endpoint;
    const second = await open([{ text: 'Again.' }], '-r');
    expect(url).not.toBe(endpoint.url);
    await second.seen(
      /1 {2}just now · 2 messages · Good morning · s-1\nWhich one\? \(1 to 1, n for a new one; Enter for none\)/,
    );
    second.press('1');
    await second.seen('coder · session s-1');
    second.press('\u001B[A');
    await second.seen(/> Good morning\ncompatible/);
    second.press('\u0015And now?\r');
    await second.seen('Again.');
    expect(endpoint.requests[0]?.map(({ content }) => content)).toContain('Good morning');
    second.press('/ses\t');
    await second.seen('> /sessions');
    second.press('\r');
    await second.seen(/> \/sessions *\n1 {2}just now/);
    second.press('n');
    await second.seen(/coder · new session (?!s-1)/);
  });

  it('asks at once for what waits in the session that -r continues, chosen or named', async () => {
    const write = { call: 'write_file', input: { path: 'a.txt', content: '1' } };
    const first = await open([write], '-s k3');
    await first.seen('new session k3');
    first.press('Write it\r');
    await first.seen('Let it ');
    first.press('/exit\r');
    await first.ended;
    const second = await open([write], '-r');
    await second.seen(/Write it · k3\nWhich one/);
    second.press('1');
    await second.seen('Let it ');
    second.press('n');
    await vi.waitFor(() => expect(second.terminal.text.split('Let it ')).toHaveLength(3), {
      timeout: 60_000,
    });
    second.press('/exit\r');
    await second.ended;
    const third = await open([{ text: 'As you wish.' }, { text: 'Still here.' }], '-r --session k3');
    await third.seen('Let it ');
    third.press('n');
    await third.seen('As you wish.');
    third.press('Are you there?\r');
    await third.seen('Still here.');
  });

  it('wraps wide characters and long lines without losing the input', async () => {
    const { terminal, press, seen } = await open([{ text: `${'漢字'.repeat(30)} end` }], '', 40);
    await seen('compatible:fake');
    press('漢字'.repeat(15));
    await seen('漢字');
    press('\r');
    await seen('end');
    press('x');
    await seen(/\n> x\ncompatible/);
    expect(terminal.typed).toBe('> x');
  });

  it('answers five questions of users, each with one command in the chat and one in the shell', async () => {
    const answers = ['Blue. '.repeat(2_000), 'Red. '.repeat(2_000), ...Array(9).fill('Green.')];
    const { terminal, press, seen } = await open(
      answers.map((text) => ({ text })),
      '-s s-1',
    );
    await seen('new session s-1');
    for (const [asked, answered] of [
      ['Which colour?', 'Blue'],
      ['Another', 'Red'],
      ['A third', 'Green'],
    ] as const) {
      press(`${asked}\r`);
      await seen(new RegExp(`${answered}\\.[\\s\\S]* out`));
    }
    press('/compact\r');
    await seen(/Compacted: [\s\S]* tokens, [\s\S]*\/undo\sundoes\sit\./);
    press('And a last one\r');
    await seen(/And a last one\n.*\n.* out/);
    // What did it save, and what did it cost?
    press('/cost\r');
    const cost =
      /Without compaction: [\d.]+k tokens[\s\S]*saved [\d.]+k tokens[\s\S]*all model calls: \d+ tokens/;
    await seen(cost);
    // What is gone, and why was it removed?
    press('/explain\r');
    const gone =
      /What the model no longer sees[\s\S]*\d of \d messages are gone[\s\S]*## Why\n- You asked for it: .*[\d.]+k → [\d.]+k tokens/;
    await seen(gone);
    // What did the model see in a request?
    press('/context 1\r');
    await seen(/user\nWhich colour\?/);
    press('/context 9\r');
    await seen('The session has 4 requests: there is no request 9.');
    expect(terminal.text).not.toContain('undefined');
    expect(terminal.text, 'warnings are lines for people').not.toMatch(/\(node:\d+\)|trace-warnings/);

    const env = { ...process.env, HOME: directory };
    const run = (...args: string[]) => runCommand(args, { cwd: directory, env });
    expect((await run('sessions', 'cost', 's-1')).stdout).toMatch(cost);
    expect((await run('sessions', 'explain', 's-1')).stdout).toMatch(gone);
    const request = await run('sessions', 'show', 's-1', '--request', '2');
    expect(request.stdout, request.stderr).toMatch(/Which colour\?[\s\S]*Blue\.[\s\S]*user\nAnother\n/);
    expect(request.stdout).not.toContain('Red.');
    const wrong = await run('sessions', 'show', 's-1', '--request', '5');
    expect(wrong).toMatchObject({ status: 2, stderr: expect.stringContaining('there is no request 5') });
  });

  it('wraps a question between words, and lists commands, on a narrow terminal', async () => {
    const { terminal, press, seen } = await open(
      [{ call: 'edit_file', input: { path: 'calc.mjs', oldText: 'a - b', newText: 'a + b' } }],
      '',
      40,
    );
    await seen('compatible:fake');
    press('/help\r');
    await seen(/\n {2}\/undo\n {4}undoes the last compaction\n/);
    press('Fix it\r');
    await seen(/\nLet it edit calc\.mjs\? \(y yes · n no · w\nno, and why · a always\)/);
    for (const line of terminal.text.split('\n')) expect(line.length).toBeLessThanOrEqual(40);
  });

  it('wraps lines between words, a note as well as an answer', async () => {
    const { terminal, press, seen } = await open([{ text: 'Hello.' }], '', 40);
    await seen('compatible:fake');
    press('Hi\r');
    await seen('Hello.');
    press('/nope\r');
    await seen(/There is no command \/nope\. \/help lists\nall commands\./);
    press('/pni\r');
    await seen(/did\syou\smean\s\/pin\?/);
    for (const line of terminal.text.split('\n')) expect(line.length).toBeLessThanOrEqual(40);
  });
});
