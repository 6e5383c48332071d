import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { runCommand, x } from './support/run-command.js';

let directory: string;
let log: string;

/** An agent that reads forty files and returns to the first, as Chat Completions messages. */
function recording(): string {
  const read = (index: number, id: string) => [
    {
      role: 'assistant',
      tool_calls: [
        {
          id,
          type: 'function',
          function: { name: 'read_file', arguments: `{"path":"src/module${index}.ts"}` },
        },
      ],
    },
    { role: 'tool', tool_call_id: id, content: `export const module${index} = 1;\n`.repeat(60) },
  ];
  const messages = Array.from({ length: 40 }, (_, index) => read(index, `call-${index}`)).flat();
  return JSON.stringify([{ role: 'user', content: 'Survey.' }, ...messages, ...read(0, 'again')]);
}

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'x-cli-replay-'));
  log = join(directory, 'log.json');
  writeFileSync(log, recording());
});
afterAll(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }));

const replay = (args: readonly string[], input?: string) =>
  input === undefined ? x(['replay', ...args]) : runCommand(['replay', ...args], { input });

describe('x replay', () => {
  it('prints a row a strategy, and writes a page', async () => {
    const page = join(directory, 'report.html');
    const { status, stdout } = await replay([log, '--window', '20000', '--html', page]);
    expect(status).toBe(0);
    const [head = '', table = ''] = stdout.split('\n\n');
    expect(head).toMatch(/log\.json “Survey\.”: openai-chat, 83 messages, 41 model calls/);
    const rows = table
      .trim()
      .split('\n')
      .map((line) => line.split(/ {2,}/)[0]);
    expect(rows.slice(-5)).toEqual(['everything', 'tail-20', 'mask-5', 'mask-then-tail', 'ours']);
    expect(readFileSync(page, 'utf8')).toContain('</html>');
  });

  it('reads standard input, prices and a configuration, and answers programs', async () => {
    const config = join(directory, 'compaction.yaml');
    writeFileSync(config, 'trigger: { share: 0.6 }\nkeep: { messages: 6 }\n');
    const args = ['-', '--json', '--window', '20000', '--config', config, '--prices', 'input=3,output=15'];
    const { status, stdout } = await replay(args, recording());
    expect(status).toBe(0);
    const { total, conversations } = JSON.parse(stdout);
    expect(total.map(({ strategy }: { strategy: string }) => strategy)).toEqual([
      'everything',
      'tail-20',
      'mask-5',
      'mask-then-tail',
      'ours',
      'config',
    ]);
    expect(total[0].cost).toBeGreaterThan(total.at(-2).cost);
    expect(conversations[0]).toMatchObject({ format: 'openai-chat', messages: 83 });
  });

  it('reads a folder, and skips what it cannot read with a reason', async () => {
    const folder = mkdtempSync(join(directory, 'folder-'));
    mkdirSync(join(folder, 'deep'));
    writeFileSync(join(folder, 'deep', 'log.jsonl'), recording());
    writeFileSync(join(folder, 'broken.json'), '{');
    writeFileSync(join(folder, 'notes.txt'), 'no log');
    const { status, stdout } = await replay([folder]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/log\.jsonl “Survey\.”: openai-chat, 83 messages/);
    expect(stdout).toMatch(/Skipped: .*broken\.json: The log has no entry of a known format/);
    expect(stdout).not.toContain('notes.txt');
    const forPrograms = await replay([folder, '--json']);
    expect(forPrograms.stderr).toMatch(/^Skipped: .*broken\.json: The log has no entry of a known format/);
    expect(JSON.parse(forPrograms.stdout).conversations).toHaveLength(1);
  });

  // Elsewhere no folder has a name that is no text.
  it.runIf(process.platform === 'linux')('reads a folder beside one that cannot be read', async () => {
    const folder = mkdtempSync(join(directory, 'closed-'));
    writeFileSync(join(folder, 'log.json'), recording());
    mkdirSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff])]));
    expect(await replay([folder])).toMatchObject({ status: 0 });
  });

  it('says of a folder what it lacks, and the formats once however many files have none', async () => {
    const folder = mkdtempSync(join(directory, 'none-'));
    writeFileSync(join(folder, 'notes.txt'), 'no log');
    const nothing = await replay([folder]);
    expect(nothing).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(
        `^There are no .json or .jsonl files in ${folder}\\. .* x replay alone looks for .*~/.codex/sessions`,
      ),
    });
    for (const name of ['a.json', 'b.json']) writeFileSync(join(folder, name), '{}');
    const { stderr } = await replay([folder]);
    expect(stderr.match(/[ab]\.json: The log has no entry/g)).toHaveLength(2);
    expect(stderr.match(/claude-code:/g)).toHaveLength(1);
  });

  it('finds the logs of this machine, reports on them, and writes the settings that did best', async () => {
    const home = mkdtempSync(join(directory, 'home-'));
    const reports = () =>
      readdirSync(home).flatMap((name) =>
        name.startsWith('x-replay-') ? [join(home, name, 'report.html')] : [],
      );
    const env = { ...process.env, HOME: home, TMPDIR: home };
    const nothing = await runCommand(['replay'], { env });
    expect(nothing).toMatchObject({ status: 2, stderr: expect.stringContaining('~/.codex/sessions') });

    mkdirSync(join(home, '.codex/sessions/2026'), { recursive: true });
    mkdirSync(join(home, '.claude/projects/app'), { recursive: true });
    writeFileSync(join(home, '.codex/sessions/2026/a.jsonl'), recording());
    writeFileSync(join(home, '.claude/projects/app/b.jsonl'), recording());
    const settings = join(home, 'compaction.yaml');
    const found = await runCommand(['replay', '--window', '24000', '--write', settings], { env });
    expect(found.status).toBe(0);
    expect(found.stderr).toContain('Found 2 logs.\n');
    const [, kept, cost] =
      /Best for these logs \(row best\): (\d+) % of the names kept, at (\d+) % of the cost/.exec(
        found.stdout,
      ) ?? [];
    const [, keptInRow, costInRow] = /^best +([\d.]+) % .*? ([\d.]+) % /m.exec(found.stdout) ?? [];
    expect([keptInRow, costInRow].map(Number).map(Math.round)).toEqual([kept, cost].map(Number));
    expect(found.stdout).not.toContain('"share"');
    const [report = ''] = reports();
    expect(found.stdout).toContain(report);
    expect(readFileSync(report, 'utf8')).toContain('</html>');
    const again = await replay([log, '--window', '24000', '--config', settings]);
    expect(again.stdout).toMatch(/^config +/m);
    // A report of its own each: on a shared machine nobody finds, or writes over, another's.
    const one = await runCommand(['replay', '--window', '24000'], { env });
    expect(one.stderr).toContain('Found 2 logs.\n');
    rmSync(join(home, '.claude'), { recursive: true });
    expect((await runCommand(['replay', '--window', '24000'], { env })).stderr).toContain('Found 1 log.\n');
    expect(reports()).toHaveLength(3);
    expect(statSync(dirname(report)).mode & 0o077).toBe(0);
  });

  it('writes the best settings into a file that says more, and refuses what is no YAML', async () => {
    const settings = join(directory, 'mine.yaml');
    writeFileSync(
      settings,
      '# mine\nsummary: { instructions: Keep the API } # why\ntrigger: { share: 0.9 }\n',
    );
    await replay([log, '--window', '24000', '--write', settings]);
    const written = readFileSync(settings, 'utf8');
    expect(written).toMatch(/^# mine\nsummary: \{ instructions: Keep the API \} # why\n/);
    expect(written).toMatch(/^trigger:\s+share: /m);
    expect(written.match(/trigger/g)).toHaveLength(1);
    writeFileSync(settings, 'a: [1\n b: }');
    const before = readFileSync(settings, 'utf8');
    for (const option of ['--write', '--config']) {
      expect(await replay([log, '--window', '24000', option, settings])).toMatchObject({
        status: 2,
        stderr: expect.stringMatching(/mine\.yaml is not valid YAML: .* at line 1, column/),
      });
    }
    expect(readFileSync(settings, 'utf8')).toBe(before);
  });

  it('shows on a terminal how far it is, and fits it', async () => {
    const shown = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    onTestFinished(() => shown.mockRestore());
    for (const [stream, columns] of [
      [process.stdout, 50],
      [process.stderr, 30],
    ] as const) {
      const before = { isTTY: stream.isTTY, columns: stream.columns };
      Object.assign(stream, { isTTY: true, columns });
      onTestFinished(() => void Object.assign(stream, before));
    }
    const { stdout } = await replay([log, '--window', '24000']);
    expect(stdout).toMatch(/^strategy[\s\S]*^ours.*\nNot shown in a narrow terminal: reduced/m);
    const lines = shown.mock.calls.map(([text]) => String(text));
    expect(lines).toHaveLength(5);
    const clear = '\r\u001B[K';
    expect(lines.every((line) => line.startsWith(clear) && line.length < clear.length + 30)).toBe(true);
    expect(lines[0]).toMatch(/K\S/);
    expect(lines.at(-1)).toBe(clear);
  });

  it('reads each session of a workspace once, by its log', async () => {
    const place = mkdtempSync(join(directory, 'place-'));
    for (const path of ['sessions/s1.log.jsonl', 'context/s1/segment-1.jsonl', 'context/s1/head.json']) {
      mkdirSync(dirname(join(place, path)), { recursive: true });
      writeFileSync(join(place, path), recording());
    }
    const { stdout } = await replay([place]);
    expect(stdout.match(/83 messages/g)).toHaveLength(1);
    expect(stdout).not.toContain('Skipped');
  });

  it('fits a terminal of 80 columns', async () => {
    const { stdout } = await replay([log, '--window', '24000']);
    const [, table = ''] = /(strategy {2}.*)$/s.exec(stdout) ?? [];
    expect(Math.max(...table.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80);
    expect(table).toMatch(/over: requests above the window/);
  });

  it('finds the settings for logs in which no name comes up again', async () => {
    const answers = Array.from({ length: 40 }, (_, at) => [
      { role: 'user', content: `and ${'abcdefghij'[at % 10]}?` },
      { role: 'assistant', content: 'so it goes on and on. '.repeat(200) },
    ]);
    const plain = join(directory, 'plain.json');
    writeFileSync(plain, JSON.stringify(answers.flat()));
    const settings = join(directory, 'plain.yaml');
    const { stdout } = await replay([plain, '--window', '24000', '--write', settings]);
    expect(stdout).toMatch(/Best for these logs .*: no name was used again, at \d+ % of the cost/);
    expect(readFileSync(settings, 'utf8')).toContain('trigger:');
    const small = await replay([plain, '--window', '400000', '--write', join(directory, 'none.yaml')]);
    expect(small.stdout).toMatch(/None of these .* exceeded .*\nNothing was written to .*none\.yaml\.\n$/);
  });

  it('takes list prices where the model of every log is known', async () => {
    const known = join(directory, 'known.jsonl');
    const entry = (type: string, message: object, uuid: string, parentUuid: string | null) =>
      JSON.stringify({ type, message, uuid, parentUuid, sessionId: 'known' });
    writeFileSync(
      known,
      [
        entry('user', { content: 'Hello' }, 'u', null),
        entry('assistant', { model: 'claude-sonnet-4-5', content: [{ type: 'text', text: 'Hi' }] }, 'a', 'u'),
      ].join('\n'),
    );
    expect((await replay([known])).stdout).toMatch(/everything .* USD 0\.\d+ /);
    expect((await replay([known, log])).stdout).not.toContain('USD');
  });

  it.each([
    [['missing.json'], /^missing\.json cannot be read: there is no such file or folder\.\n$/],
    [['package.json'], /Known formats/],
    [['-', '--window', 'big'], /--window must be a whole number/],
    [['-', '--format', 'oops'], /The format "oops" is unknown\.\nKnown formats:\n.*claude-code: /s],
    [['-', '--prices', 'input=free'], /Invalid prices: input/],
    [['-', '--frobnicate'], /no option --frobnicate/],
  ])('refuses %j and says why', async (args, message) => {
    const { status, stdout, stderr } = await replay(args, recording());
    expect(stderr).toMatch(message);
    expect(status).toBe(2);
    expect(stdout).toBe('');
  });

  it('says that nothing was due, and which window to try', async () => {
    const { stdout } = await replay([log, '--window', '400000']);
    expect(stdout).toMatch(
      /Nothing was reduced, because the largest request has only \d+ tokens. Try --window \d+000\./,
    );
  });

  it('suggests no window that system prompt and tools fill', async () => {
    const short = JSON.stringify([
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello' },
    ]);
    expect((await replay(['-'], short)).stdout).toMatch(
      /Nothing was reduced, because the largest request has only \d+ tokens\.\n/,
    );
    const { stdout } = await replay(['-', '--window', '6000'], short);
    expect(stdout).toContain('Try a larger --window');
    expect(stdout).not.toContain('Nothing was reduced');
  });

  it('says above the table what it left out, and below it what each column means', async () => {
    const row = (id: string, parentUuid: string | null, role: string) => ({
      ...{ type: role, uuid: id, parentUuid, sessionId: 's' },
      message: { role, content: [{ type: 'text', text: `words of ${id}` }] },
    });
    const rows = [row('a', null, 'user'), row('b', 'a', 'assistant'), row('d', 'lost', 'user')];
    const file = join(directory, 'gap.jsonl');
    const whole = [...rows, row('e', 'd', 'assistant')].map((each) => JSON.stringify(each)).join('\n');
    writeFileSync(file, whole);
    const { stdout } = await replay([file, '--window', '20000']);
    const [above = '', table = '', legend = ''] = stdout.split('\n\n');
    expect(above).toContain('4 messages');
    expect(above).toContain('1 × row with a missing parent');
    const [headings = ''] = table.split('\n');
    for (const heading of headings.trim().split(/ {2,}/).slice(1))
      expect(legend).toMatch(new RegExp(`(?:^|; )${heading}(?: {2,}|: )\\S`, 'm'));
  });

  it('fails where a condition holds', async () => {
    const args = [log, '--window', '24000', '--fail-if'];
    expect(await replay([...args, 'over>0 kept<10'])).toMatchObject({ status: 0 });
    const failed = await replay([...args, 'over>0 reduced>0']);
    expect(failed).toMatchObject({ status: 1 });
    expect(failed.stderr).toMatch(/^Failed: reduced>0 \(ours: \d+\)\.$/m);
    expect((await replay([...args, 'kept<<5'])).stderr).toContain('--fail-if cannot read "kept<<5"');
  });

  it('says what it takes for fixed, and when that leaves no room', async () => {
    const roomy = await replay([log]);
    expect(roomy.stdout).toMatch(
      /Window \d{4,5} \(half of the largest request\), counted by estimate; \d{4,5} of its tokens are reserved for system prompt and tools/,
    );
    expect(roomy.stdout).not.toContain('--system-tokens');
    const cramped = await replay([log, '--window', '4000']);
    expect(cramped).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('leaves no tokens for the conversation'),
    });
    const told = await replay([log, '--window', '4000', '--system-tokens', '500']);
    expect(told.stdout).not.toContain('leaves no tokens');
  });
});
