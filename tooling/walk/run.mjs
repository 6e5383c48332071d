import { spawn } from 'node:child_process';

/**
 * Runs a program to its end; never throws.
 *
 * @returns its exit code (1 when it could not be run or had to be killed) and the end of what it printed
 */
export function run(command, args, { cwd, env = process.env, input = '', seconds = 300 }) {
  return new Promise((done) => {
    const child = spawn(command, args, {
      cwd,
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: seconds * 1000,
    });
    let output = '';
    const keep = (text) => {
      output = (output + text).slice(-100_000);
    };
    child.stdout.setEncoding('utf8').on('data', keep);
    child.stderr.setEncoding('utf8').on('data', keep);
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    child.once('error', (error) => done({ code: 1, output: `${command}: ${error.message}` }));
    child.once('close', (code, signal) => {
      done({ code: code ?? 1, output: signal === null ? output : `${output}\nkilled after ${seconds} s` });
    });
  });
}
