/** A problem that a check found, with its location. */
export interface Problem {
  /** Path relative to the root of the repository. */
  readonly file: string;
  readonly line?: number;
  readonly message: string;
}

/** Prints the problems, each with its location so that editors can link to it. If there are any, the process will exit with 1. */
export function report(problems: readonly Problem[]): void {
  for (const { file, line, message } of problems) {
    console.error(`${line === undefined ? file : `${file}:${line}`} ${message}`);
  }
  if (problems.length > 0) process.exitCode = 1;
}
