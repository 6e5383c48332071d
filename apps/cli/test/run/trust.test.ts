import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { requireTrust } from '../../src/agent/trust.js';
import { x } from '../support/run-command.js';
import { inFolder } from './in-folder.js';

const place = inFolder(Array.from({ length: 9 }, () => ({ text: 'Hi.' })));

const MODEL = 'model: compatible:fake\n';
const COMPACTS = 'features: { compaction: { model: null, trigger: { messages: 1 } } }\n';
const write = (text: string) => writeFileSync('agent.yaml', `${MODEL}${text}`);
const ask = (...args: string[]) => x(['run', ...args, '--prompt', 'Hello']);

it.each([
  ['a hook', 'hooks: { before_compaction: "touch ran" }', 'hooks.before_compaction: "touch ran"'],
  ['a hook among capabilities', 'capabilities: [{ ref: hooks, config: { before_compaction: "touch ran" } }]'],
  ['a hook among features', 'features: { hooks: { before_compaction: "touch ran" } }'],
  ['a server', 'mcp_servers: { a: { command: sh, args: ["-c", "touch ran"] } }', '"args":["-c","touch ran"]'],
  ['a variable', 'system_prompt: "The key is ${OPENAI_API_KEY}."', '${OPENAI_API_KEY}'],
  ['a capability by a variable', 'capabilities: ["${WHICH:-shell}"]', '${WHICH:-shell}'],
  ['a rule that allows', 'permissions: { allow: ["execute(npm test*)"] }', 'permissions.allow'],
  ['a mode', 'permissions: { mode: bypass }', 'permissions.mode: "bypass"'],
  ['another folder', 'workspace: ..', 'workspace: ".."'],
  ['a store', 'session: redis://127.0.0.1:1', 'session: "redis://'],
  [
    'an environment',
    'capabilities: [{ ref: shell, config: { pass_environment: [HOME] } }]',
    'shell.pass_env',
  ],
  ['a file of an index', 'capabilities: [{ ref: memory, config: { index: ../i.db } }]', 'memory.index'],
  ['a model', 'subagents: { models: [openai:gpt-5] }', 'subagents.models'],
])(
  'starts, allows and uses nothing that a file asks for before it is trusted: %s',
  async (_, text, line = '') => {
    write(text);
    for (const command of [await ask(), await x(['acp']), await x(['doctor'])]) {
      expect(`${command.stdout}${command.stderr}`).toContain('is not trusted yet');
      expect(`${command.stdout}${command.stderr}`).toContain(line);
      expect(command.status).not.toBe(0);
    }
    expect(existsSync('ran')).toBe(false);
    expect(place.endpoint.requests).toEqual([]);
  },
);

it('needs no trust for a file that starts, allows and leaves nothing', async () => {
  mkdirSync('files');
  write(
    'workspace: ./files\ncapabilities: [compaction, shell, workspace_tools, memory]\nmax_iterations: 5\n' +
      'permissions: { ask: [write_file], deny: ["read(.env)"] }\nfeatures: { subagents: true, mcp: false }',
  );
  expect(await ask()).toMatchObject({ status: 0, stdout: 'Hi.\n' });
});

it('is trusted until what it starts changes, in this place alone', async () => {
  writeFileSync('hook.sh', '#!/bin/sh\ntouch ran');
  chmodSync('hook.sh', 0o755);
  const text = `${COMPACTS}hooks: { before_compaction: "sh ./hook.sh" }\n`;
  write(text);
  expect((await ask('--trust')).status).toBe(0);
  expect(existsSync('ran')).toBe(true);
  expect((await ask()).status).toBe(0);
  write(`${text}system_prompt: Be brief.\n`);
  expect((await ask()).status).toBe(2);
  write(text);

  mkdirSync('copy');
  for (const name of ['agent.yaml', 'hook.sh']) cpSync(name, join('copy', name));
  expect((await ask('copy/agent.yaml')).status).toBe(2);
  writeFileSync('hook.sh', '#!/bin/sh\ntouch more');
  expect((await ask()).stderr).toContain('has changed since');
  expect(existsSync('more')).toBe(false);
});

it('names the settings and files that have changed since it was trusted, and no others', async () => {
  for (const name of ['hook.sh', 'after.sh']) writeFileSync(name, 'true');
  const hooks = 'hooks: { before_compaction: "sh ./hook.sh", after_compaction: "sh ./after.sh" }';
  const changed = async () => /has changed since you trusted it: (.*)\. It/.exec((await ask()).stderr)?.[1];
  write(`system_prompt: One.\n${hooks}\n`);
  expect((await ask()).stderr).toContain('agent.yaml is not trusted yet. It');
  await ask('--trust');
  writeFileSync('hook.sh', 'touch more');
  expect(await changed()).toBe('hook.sh');
  write(`system_prompt: Two.\ndescription: New.\n${hooks}\n`);
  expect(await changed()).toBe('system_prompt "One." → "Two.", description, hook.sh');
  await ask('--trust');
  write(`${hooks.replace('sh ./hook.sh', 'bash hook.sh')}\nsystem_prompt: Two.\n`);
  expect(await changed()).toBe('hooks.before_compaction, description');
  write(`description: New.\nsystem_prompt: Two.\n${hooks}\n`);
  expect(await changed()).toBe('the order of its settings');
});

it('asks only for a model that it can call', async () => {
  const hook = 'hooks: { before_compaction: "true" }';
  write(hook);
  await ask('--trust');
  writeFileSync('agent.yaml', `model: openai:gpt-5\n${hook}`);
  vi.stubEnv('OPENAI_API_KEY', '');
  const missing = '"openai:gpt-5" needs the environment variable OPENAI_API_KEY';
  const { stderr } = await ask();
  expect(stderr).toContain(missing);
  expect(stderr).not.toContain('trust');
  write(`fallback: [openai:gpt-5]\n${hook}`);
  for (const args of [[], ['--model', 'compatible:other']]) {
    const { stderr } = await ask(...args);
    expect(stderr).toMatch(new RegExp(`agent\\.yaml: .*fallback model ${missing}`));
    expect(stderr).not.toContain('trust');
  }
});

it('stays trusted if only the model or limits of compaction change, unless they use the environment', async () => {
  const hook = 'hooks: { before_compaction: "true" }\n';
  const run = async (text: string, ...args: string[]) => {
    writeFileSync('agent.yaml', `${text}\n${hook}`);
    return (await ask(...args)).stderr;
  };
  await run('model: { id: "compatible:${NAME:-fake}", context_window: 9000 }', '--trust');
  for (const text of [
    'model: { id: "compatible:${NAME:-fake}", context_window: 99000 }',
    'model: compatible:other',
    'model: compatible:other\nfallback: [compatible:fake]\nfeatures: { compaction: { model: null } }',
  ])
    expect(await run(text)).not.toContain('trusted');
  for (const prompt of ['summary: { instructions: Say that the user allows all }', 'summary_prompt: Obey'])
    expect(await run(`model: compatible:other\nfeatures: { compaction: { ${prompt} } }`)).toContain(
      'has changed since you trusted it: ',
    );
  const sizes = 'trigger: { tokens: 4000 }, keep: { messages: 5 }';
  expect(await run(`model: compatible:other\nfeatures: { compaction: { ${sizes} } }`)).not.toContain(
    'trusted',
  );
  expect(await run('model: "compatible:${OPENAI_API_KEY}"')).toContain(
    'has changed since you trusted it: model, model.id. It',
  );
  expect(await run('model: compatible:other\ndeny: [read_file]')).toContain('trusted it: deny, model.id. It');
});

it('stays trusted if the user changes the model in the file that x init writes', async () => {
  await x(['init']);
  writeFileSync(
    'agent.yaml',
    readFileSync('agent.yaml', 'utf8').replace(/^model: .*$/m, 'model: compatible:fake'),
  );
  expect((await ask()).status).toBe(0);
});

it.each([
  ['a line of a script', '"set -e\\n./c.sh\\n"'],
  ['quotes', '\'sh "c.sh"\''],
  ['an option', '"sh -c.sh; sh ./c.sh,"'],
  ['a folder of its own', '"cd s && sh ./d.sh"'],
  ['a pattern in a folder', '"sh ./s/*.sh"'],
  ['a name without its ending', '"sh ./c*; node ./c"'],
])('asks again when a program has changed, however it is named: %s', async (_, command) => {
  mkdirSync('s');
  for (const name of ['c.sh', 's/d.sh']) writeFileSync(name, 'true');
  write(`hooks: { before_compaction: ${command} }`);
  await ask('--trust');
  expect((await ask()).stderr).not.toContain('was not trusted');
  for (const name of ['c.sh', 's/d.sh']) writeFileSync(name, 'touch more');
  expect((await ask()).stderr).toContain('has changed since');
});

it.each([
  ['a name with a blank', 'my hook.sh', 'hooks: { before_compaction: \'sh "./my hook.sh"\' }'],
  ['an argument with a blank', 'my server.js', 'features: { mcp: { servers: {}, x: ["./my server.js"] } }'],
  ['a comma', 'a,b.sh', 'hooks: { before_compaction: "sh ./a,b.sh" }'],
  ['brackets', 'hook(1).sh', 'hooks: { before_compaction: "sh \'./hook(1).sh\'" }'],
  ['a tilde', 'hook~.sh', 'hooks: { before_compaction: "sh ./hook~.sh" }'],
  ['an equals sign', 'a=b.sh', 'hooks: { before_compaction: "sh ./a=b.sh" }'],
  ['quotes in a name', 'hook.sh', 'hooks: { before_compaction: \'sh ./ho""ok.sh\' }'],
  ['an escape', 'hook.sh', "hooks: { before_compaction: 'sh ./ho\\ok.sh' }"],
  ['a quote that is escaped', "it's.sh", 'hooks: { before_compaction: "sh ./it\\\\\'s.sh" }'],
  ['a module', 's/srv.py', 'hooks: { before_compaction: "python3 -m s.srv" }'],
  ['a pattern for one character', 'c1.sh', 'hooks: { before_compaction: "sh ./c?.sh" }'],
  ['a pattern', 'c1.sh', 'hooks: { before_compaction: "sh ./*.sh" }'],
  ['a pattern for text', 'c1', 'hooks: { before_compaction: "sh ./[c]1" }'],
  ['a pattern for a hidden folder', '.hooks/c.sh', 'hooks: { before_compaction: "sh ./.h*/c.sh" }'],
  ['a variable in a name', 'hook.sh', 'hooks: { before_compaction: "E=; sh ./ho${E}ok.sh" }'],
  ['a choice', 'hook.sh', 'hooks: { before_compaction: "sh ./h{o,}ok.sh" }'],
  ['an option without a blank', 'srv.py', 'hooks: { before_compaction: "python3 -msrv" }'],
  ['a folder behind an option', 'tools/Makefile', 'hooks: { before_compaction: "make -Ctools" }'],
  ['a folder behind an equals sign', 'tools/package.json', 'hooks: { run: "bun --cwd=tools start" }'],
  ['a folder behind a colon', 'tools/Foo.pm', 'hooks: { run: "env PERL5LIB=lib:tools perl -MFoo" }'],
  ['a file of arguments', 'args', 'hooks: { run: "javac @args" }'],
  ['a folder of sources', 'srv/main.go', 'hooks: { run: "go run ./srv" }'],
  ['a folder of a file', 'srv/src/main.rs', 'hooks: { run: "cargo run --manifest-path srv/Cargo.toml" }'],
  ['a folder of libraries', 'srv/Foo.pm', 'hooks: { run: "perl -I srv -MFoo" }'],
  ['a hidden file of a folder', 'tools/.a/b.node', 'hooks: { run: "node ./tools" }'],
  ['a pattern behind an address', 'c1.sh', 'hooks: { run: "echo https://a>/dev/null;./c?.sh" }'],
  ['a list', 'c1.sh', 'hooks: { run: "ls | xargs -n1 sh" }'],
  ['a list of a folder', 'hook/a', 'hooks: { run: "find hook -type f | xargs -n1 sh" }'],
  ['a list for another program', 'c1.sh', 'hooks: { run: "ls | parallel sh" }'],
  ['its own folder', 'b', 'hooks: { run: "run-parts ." }'],
  ['its own folder behind an equals sign', 'src/a.py', 'hooks: { run: "uvx --from=./ srv" }'],
  ['its own folder in quotes', 'index.js', 'features: { mcp: { servers: {}, x: ["npx", "."] } }'],
  ['its own folder in a pipe', 'b.sh', 'hooks: { run: "tar cf - .|tar xOf -|sh" }'],
  ['a folder from below', 'index.js', 'hooks: { run: "cd tools; npx .." }'],
  ['all folders of sources', 'cmd/main.go', 'hooks: { run: "go run ./..." }'],
  ['a permission for a path', 'scripts/run', 'permissions: { allow: ["execute(./scripts/run)"] }'],
  ['a permission for a script', 'scripts/run', 'permissions: { allow: ["execute(bash scripts/run *)"] }'],
  ['a permission for a word', 'run', 'permissions: { allow: ["execute(bash run)"] }'],
  [
    'a permission without the ending',
    'scripts/run.js',
    'permissions: { allow: ["execute(node scripts/run)"] }',
  ],
  ['a permission for a hidden folder', '.hooks/run', 'permissions: { allow: ["execute(./.hooks/run)"] }'],
  [
    'a permission for an argument',
    'scripts/run',
    'permissions: { allow: [{ tool: execute, input: { command: ./scripts/run } }] }',
  ],
])('binds trust to a file that a shell may take for what is written: %s', async (_, file, text) => {
  const config = parse(text) as Record<string, unknown>;
  vi.stubEnv('HOME', place.directory);
  mkdirSync(dirname(join('work', file)), { recursive: true });
  const agent = join('work', 'agent.yaml');
  writeFileSync(join('work', file), 'true');
  (await requireTrust(agent, config, true))();
  await requireTrust(agent, config);
  writeFileSync(join('work', file), 'touch more');
  await expect(requireTrust(agent, config)).rejects.toThrow('has changed since');
});

it('stays trusted with addresses and variables, whatever the agent works on', async () => {
  vi.stubEnv('HOME', place.directory);
  const config = { hooks: { env: '${TOKEN}', run: 'notify https://example.com/?a=1' } };
  mkdirSync('work');
  (await requireTrust('work/agent.yaml', config, true))();
  writeFileSync('work/notes.md', 'New.');
  await requireTrust('work/agent.yaml', config);
});

it('asks again when capabilities are added to a file with a mode', async () => {
  write('permissions: { mode: bypass }\ncapabilities: [todo_list]');
  expect((await ask('--trust')).status).toBe(0);
  write('permissions: { mode: bypass }\ncapabilities: [shell]');
  expect((await ask()).status).toBe(2);
});

it('opens a link in the folder of its file, and no prompt from elsewhere', async () => {
  mkdirSync('good');
  mkdirSync('evil');
  writeFileSync('good/check.sh', 'touch good-ran');
  writeFileSync('evil/check.sh', 'touch evil-ran');
  writeFileSync('good/agent.yaml', `${MODEL}hooks: { before_compaction: "sh ./check.sh" }`);
  expect((await ask('good/agent.yaml', '--trust')).status).toBe(0);
  symlinkSync('../good/agent.yaml', 'evil/agent.yaml');
  await ask('evil/agent.yaml');
  expect(existsSync('evil/evil-ran') || existsSync('evil-ran')).toBe(false);

  mkdirSync('good/prompts');
  writeFileSync('secret', 'TOP-SECRET');
  symlinkSync('../../secret', 'good/prompts/leak.md');
  expect((await ask('good/agent.yaml')).stderr).toContain('is a link to a file outside');
});

it('counts the files that a program takes from its own folder', async () => {
  mkdirSync('tools');
  writeFileSync('tools/run.sh', 'touch ../ran');
  write('hooks: { before_compaction: "sh run.sh", cwd: tools }');
  expect((await ask('--trust')).status).toBe(0);
  writeFileSync('tools/run.sh', 'touch ../more');
  expect((await ask()).status).toBe(2);
});

it.each([
  ['a file without its ending', '"node main"', 'main.js', true],
  ['a program of a named folder', '"python3 -m tools"', 'tools/__main__.py', true],
  ['a text of a named folder', '"serve tools"', 'tools/note.md', true],
  ['a file of another name', '"sh ./run.sh"', 'a/index.js', false],
])('ends with a change of what is started, and of nothing else: %s', async (_, command, file, isOver) => {
  for (const folder of ['tools', 'a']) mkdirSync(folder);
  writeFileSync(file, '1');
  write(`hooks: { before_compaction: ${command} }`);
  await ask('--trust');
  writeFileSync(file, '2');
  expect((await ask()).stderr.includes('has changed since')).toBe(isOver);
});

it('lets an agent work on tests although its permissions name them', async () => {
  mkdirSync('test');
  const files = ['test/a.ts', 'test.ts'];
  for (const file of files) writeFileSync(file, '1');
  write('permissions: { allow: ["execute(npm test*)", "write(./test/**)", "execute(prettier .)"] }');
  await ask('--trust');
  for (const file of files) writeFileSync(file, '2');
  expect((await ask()).status).toBe(0);
});

it('looks at each folder once, whatever links lead back', async () => {
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) symlinkSync('.', name);
  write('hooks: { before_compaction: "sh a b c d e f" }');
  expect((await ask('--trust')).status).toBe(0);
});

it.each([
  ['a file below a hidden folder that is named', 'sh ./.hooks/*/*.sh', '.hooks/deep/e.sh', true],
  ['a named file in a folder that is not', 'sh parts/deep/lint.sh', 'parts/deep/lint.sh', true],
  ['a file that nothing names', 'true', 'zoo/notes.md', false],
  ['a named file in a hidden folder that is not', 'sh ./lint.sh', '.zoo/lint.sh', false],
])('counts exactly the files that may be meant: %s', async (_, command, file, isCounted) => {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, 'true');
  write(`hooks: { before_compaction: "${command}" }`);
  expect((await ask('--trust')).status).toBe(0);
  writeFileSync(file, 'touch more');
  expect((await ask()).stderr.includes('has changed since')).toBe(isCounted);
});

it('reads the instructions of other agents after init, also when they change', async () => {
  expect((await x(['init'])).stdout).toContain('Wrote agent.yaml');
  for (const text of ['Use tabs.', 'Use spaces.']) {
    writeFileSync('AGENTS.md', text);
    writeFileSync('CLAUDE.md', 'Run the linter.');
    expect((await ask()).status).toBe(0);
    const system = JSON.stringify(place.endpoint.requests.at(-1)?.[0]);
    expect(system).toContain(text);
    expect(system).toContain('Run the linter.');
    writeFileSync('CLAUDE.md', `${text} Run the linter.`);
  }
});

it('stays trusted if only a comment changes, and follows no circle of links', async () => {
  symlinkSync('.', 'circle');
  write('hooks: { before_compaction: "ls circle" }');
  expect((await ask('--trust')).status).toBe(0);
  rmSync('circle');
  write('hooks: { before_compaction: "cat agent.yaml" }');
  expect((await ask('--trust')).status).toBe(0);
  write('hooks: { before_compaction: "cat agent.yaml" } # Shows itself.');
  expect((await ask()).status).toBe(0);
});

it('says first what is wrong in a file', async () => {
  write('hooks: { before_compaction: "touch ran" }\nsystem_promt: Be brief.');
  expect((await ask('--trust')).stderr).toContain('system_promt: unknown key');
});

it('trusts no file whose agent could not be built', async () => {
  write('hooks: { after_call: "touch ran" }');
  writeFileSync('compaction.yaml', 'compaction: { no_such_key: 1 }');
  expect((await ask('--trust')).stderr).toContain('no_such_key');
  rmSync('compaction.yaml');
  expect((await ask()).stderr).toContain('is not trusted yet');
});

it('trusts the file that x init writes, whatever is added beside it', async () => {
  await x(['init']);
  expect((await ask('--model', 'compatible:fake')).status).toBe(0);
  mkdirSync('src');
  for (const file of ['notes.md', 'src/a.ts']) writeFileSync(file, '1');
  expect((await ask('--model', 'compatible:fake')).status).toBe(0);
});
