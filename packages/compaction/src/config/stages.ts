/** The built-in stages, by the name that the configuration and the steps of an outcome use. */
export const stageNames = [
  'cut_unseen',
  'truncate_args',
  'trim_synthetic',
  'preview_args',
  'reference_media',
  'mask_superseded',
  'mask_outputs',
  'native',
  'summarize',
  'drop_oldest',
] as const;

export type StageName = (typeof stageNames)[number];
