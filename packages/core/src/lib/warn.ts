/** Logs a warning: as a process warning if there is a process, else on the console. */
export function warn(message: string): void {
  if (typeof process === 'object' && typeof process.emitWarning === 'function') process.emitWarning(message);
  else console.warn(message);
}
