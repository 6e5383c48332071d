import type { ReplayReport } from '@x/replay';

/** The result of replaying a log. */
export interface ReplayAnswer {
  readonly report: ReplayReport;
  /** Tokens of every request, strategy by strategy. */
  readonly requests: readonly { readonly strategy: string; readonly tokens: readonly number[] }[];
}
