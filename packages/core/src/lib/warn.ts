/** Warns whoever runs the program: a process warning where there are processes, else a line of the console. */
export function warn(message: string): void {
  if (typeof process === 'object' && typeof process.emitWarning === 'function') process.emitWarning(message);
  else console.warn(message);
}
