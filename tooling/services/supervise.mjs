// Runs commands in turn, the last of them a server, for as long as the process that started this one lives.
// Usage: node supervise.mjs <directory> <JSON array of commands>
//
// A runner that is killed cannot clean up after itself, but its end of our stdin closes whichever way it goes. Then the
// running command is killed and the directory, which holds nothing but throw-away data, is removed.
//
// Any message over IPC kills the server and starts it again on the same data; the answer is sent in between.
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
    // Whoever asked may be gone by now.
    if (crashed && process.connected) process.send('crashed');
    crashed = false;
    // A group of its own: mariadb-install-db is a script, and killing it alone would leave its server behind.
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
    // Gone already.
  }
}
