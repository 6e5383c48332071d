/** A program that tests need and that npm cannot install: a server or a browser. */
export interface Service {
  /** Name of the service in messages. */
  readonly name: string;
  /** The environment variable with the address of an existing service, which is used unchanged. */
  readonly variable: string;
  /** An example value of the variable, for messages. */
  readonly example: string;
  /** Possible names of the program, the preferred one first. An absolute path is used unchanged. */
  readonly programs: readonly string[];
  readonly debianPackages: readonly string[];
  readonly homebrewFormula: string;
  /** Starts the service with the program at this path. */
  fromProgram(path: string): Promise<Running>;
}

/** A service that tests can use now. */
export interface Running {
  /** A URL, or the path of a program. */
  readonly address: string;
  /** Stops the service if it was started for these tests. */
  stop(): Promise<void>;
  /** Kills the server (SIGKILL) and starts it again on the same data and port. Resolves once it answers. Only for private servers. */
  crash?(): Promise<void>;
  /** Pauses all processes of the server (SIGSTOP) until the returned function is called. Only for private servers. */
  pause?(): () => void;
}

/** Returns an existing service, which `stop` leaves running. */
export function existing(address: string): Running {
  return { address, stop: async () => {} };
}
