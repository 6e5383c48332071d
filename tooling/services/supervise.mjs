// Runs commands one after the other, until the parent process ends. The last command is a server.
// Usage: node supervise.mjs <directory> <JSON array of commands>
//
// A test runner that is killed cannot clean up, but its end of this process's stdin closes in any case. Then this process kills the
// running command, and removes the directory with its temporary data.
//
// A message over IPC kills the server and starts it again on the same data. The answer is sent in between.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';

const [, , directory, commands] = process.argv;
let child;
let orphaned = false;
let crashed = false;

process.on('message', () => {
  crashed = true;
  killGroup();
});
process.stdin
  .once('close', () => {
    orphaned = true;
    killGroup();
  })
  .on('error', () => {})
  .resume();

let status = 0;
for (const [program, ...args] of JSON.parse(commands)) {
  if (orphaned || status !== 0) break;
  do {
    // The parent process may have ended.
    if (crashed && process.connected) process.send('crashed');
    crashed = false;
    // In a separate process group, because mariadb-install-db is a script: killing only the script would not end its server.
    child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'], detached: true });
    const [code] = await once(child, 'exit');
    status = code ?? 1;
  } while (crashed && !orphaned);
}
killGroup();
rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
process.exit(orphaned ? 0 : status);

function killGroup() {
  try {
    if (child?.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The group has already ended.
  }
}
