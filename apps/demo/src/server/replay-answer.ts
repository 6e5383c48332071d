import type { ReplayReport } from '@x/replay';

/** What replaying a log came to. */
export interface ReplayAnswer {
  readonly report: ReplayReport;
  /** Tokens of every request, strategy by strategy. */
  readonly requests: readonly { readonly strategy: string; readonly tokens: readonly number[] }[];
}
