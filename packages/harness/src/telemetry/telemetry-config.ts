import type { Meter, Tracer } from '@opentelemetry/api';
import { z } from 'zod';

const withMethod = <Kind>(method: string, kind: string) =>
  z.custom<Kind>(
    (value) => typeof value === 'object' && value !== null && method in value,
    `must be ${kind} of @opentelemetry/api`,
  );

export const telemetryConfigSchema = z.strictObject({
  /** Default: that of the globally registered provider, if one ever is. */
  tracer: withMethod<Tracer>('startSpan', 'a tracer').optional(),
  /** Default: that of the globally registered provider, if one ever is. */
  meter: withMethod<Meter>('createHistogram', 'a meter').optional(),
  /** Also write what was said, what tools were given and answered, and the messages of errors. Default false. */
  captureContent: z.boolean().default(false),
  /** The provider's name, where the models' ids do not begin with it (`openai.responses:gpt-5`). */
  provider: z.string().min(1).optional(),
});

export type TelemetryConfig = z.input<typeof telemetryConfigSchema>;
