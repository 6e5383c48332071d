/** Something a check found, and where. */
export interface Problem {
  /** Relative to the repository's root. */
  readonly file: string;
  readonly line?: number;
  readonly message: string;
}

/** Prints the problems, one a line where an editor can click them, and makes the process exit 1 when there are any. */
export function report(problems: readonly Problem[]): void {
  for (const { file, line, message } of problems) {
    console.error(`${line === undefined ? file : `${file}:${line}`} ${message}`);
  }
  if (problems.length > 0) process.exitCode = 1;
}
