import type { SettingReader } from '../base/settings/settings.ts'
import { choice, flag } from '../base/settings/values.ts'

export function mcpConfig({ setting }: SettingReader) {
  return {
    mcp: setting(
      'MAYFLY_MCP',
      mcpTools,
      'on',
      'tools for agents at /mcp (Model Context Protocol): on, codes (without those that return text of a mail), off',
    ),
  }
}

function mcpTools(given: string): 'on' | 'codes' | 'off' {
  if (given === 'codes') return given
  try {
    return flag(given) ? 'on' : 'off'
  } catch {
    return choice('on', 'codes', 'off')(given)
  }
}
