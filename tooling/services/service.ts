/** Something the tests need that npm cannot install: a server or a browser. */
export interface Service {
  /** As people call it, for messages. */
  readonly name: string;
  /** The environment variable that names one that is already there; its value is used as it is. */
  readonly variable: string;
  /** What such a value looks like, for the message that asks for one. */
  readonly example: string;
  /** The program under each name it goes by, the preferred one first; an absolute path is taken literally. */
  readonly programs: readonly string[];
  readonly debianPackages: readonly string[];
  readonly homebrewFormula: string;
  /** Makes one available from the program installed at this path. */
  fromProgram(path: string): Promise<Running>;
}

/** A service that tests can use now. */
export interface Running {
  /** What tests are given: a URL, or the path of a program. */
  readonly address: string;
  /** Ends what was started for these tests, and nothing else. */
  stop(): Promise<void>;
  /** Kills it (SIGKILL) and starts it again on the same data and port; returns once it answers. Of servers of our own alone. */
  crash?(): Promise<void>;
  /** Lets all its processes stand still (SIGSTOP) until the answer is called. Of servers of our own alone. */
  pause?(): () => void;
}

/** A service that needs no ending by us. */
export function existing(address: string): Running {
  return { address, stop: async () => {} };
}
