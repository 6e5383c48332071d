import { type FileCapability, fileCapability } from '@x/core';
import { type McpOptions, mcp } from './mcp.js';
import { mcpConfigSchema } from './mcp-config.js';

/** `mcp`, for files: to be registered in a `CapabilityRegistry`. */
export function mcpCapability(options: McpOptions = {}): FileCapability {
  return fileCapability('mcp', mcpConfigSchema, (config) => mcp(config, options));
}
