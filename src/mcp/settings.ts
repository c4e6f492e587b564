import type { SettingReader } from '../base/settings/settings.ts'
import { flag } from '../base/settings/values.ts'

export function mcpConfig({ setting }: SettingReader) {
  return {
    mcp: setting('MAYFLY_MCP', flag, 'on', 'tools for agents at /mcp (Model Context Protocol)'),
  }
}
