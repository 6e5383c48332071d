#!/usr/bin/env node
import { runCli } from './cli.js';

// If the reader closes the pipe early (`x sessions show … | head`), this is not an error. A running agent first saves its session.
let isOpen = true;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A terminal that was closed reports EIO.
  if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
  if (process.listenerCount('SIGTERM') === 0) process.exit(0);
  if (isOpen) process.kill(process.pid, 'SIGTERM');
  isOpen = false;
});

// Without a reader of progress, the answer still matters.
process.stderr.on('error', () => {});

// Prints a warning as one line. A chat has its own listener, and shows the warning above the input.
process.removeAllListeners('warning').on('warning', ({ message }) => {
  if (process.listenerCount('warning') === 1) process.stderr.write(`${message}\n`);
});

process.exitCode = await runCli(process.argv.slice(2), { output: process.stdout, errors: process.stderr });
