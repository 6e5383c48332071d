import { fileJsonSchema, type JsonObject } from '@x/core';
import { evictionConfigSchema } from '../eviction/eviction-config.js';
import { compactionFileSchema } from '../config/compaction-file.js';

/** JSON Schema of the `compaction` configuration in a file, for editors and for validation elsewhere. */
export const compactionJsonSchema: JsonObject = fileJsonSchema(compactionFileSchema);

/** JSON Schema of the `tool_result_eviction` configuration in a file. */
export const evictionJsonSchema: JsonObject = fileJsonSchema(evictionConfigSchema);
