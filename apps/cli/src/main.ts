#!/usr/bin/env node
import { runCli } from './cli.js';

// A reader that closes the pipe early (`x sessions show … | head`) is not a failure. A running agent stores its session first.
let isRead = true;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  if (process.listenerCount('SIGTERM') === 0) process.exit(0);
  if (isRead) process.kill(process.pid, 'SIGTERM');
  isRead = false;
});

// A warning is one line for people. A chat, which listens itself, shows it above the input.
process.removeAllListeners('warning').on('warning', ({ message }) => {
  if (process.listenerCount('warning') === 1) process.stderr.write(`${message}\n`);
});

process.exitCode = await runCli(process.argv.slice(2), { output: process.stdout, errors: process.stderr });
