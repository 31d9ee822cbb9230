import type { LoadedConfig } from './load.ts'
import { isSecret, type SettingsTable } from './setting.ts'

/** A setting with another value than its default. Plain data, which crosses threads. */
export interface ChangedSetting {
  readonly name: string
  /** Absent for secrets. */
  readonly value?: unknown
  /** `file`, `environment` or `flag`. */
  readonly from: string
}

/** Lists settings with another value than their default; secrets by their names alone. */
export function listChangedSettings(
  table: SettingsTable,
  { values, provenance }: Pick<LoadedConfig<SettingsTable>, 'values' | 'provenance'>,
): readonly ChangedSetting[] {
  return Object.entries(table)
    .filter(([name, setting]) => JSON.stringify(values[name]) !== JSON.stringify(setting.default))
    .map(([name, setting]) => ({
      name,
      from: provenance[name] ?? 'default',
      ...(!isSecret(setting) && { value: formatSetting(name, values[name]) }),
    }))
}

function formatSetting(name: string, value: unknown): unknown {
  const formatted = withoutCredentials(value)
  // Receivers of webhooks often identify the sender by a token in the path.
  return name.endsWith('webhook_url') && typeof formatted === 'string'
    ? formatted.replace(/(:\/\/[^/?#]*\/).+$/s, '$1…')
    : formatted
}

/** Addresses may contain a user and a password, and a token in their query. */
function withoutCredentials(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutCredentials)
  if (typeof value !== 'string') return value
  return value
    .replaceAll(/:\/\/[^/?#]*@/g, '://…@')
    .replace(/(^[a-z][a-z0-9+.-]*:|:\/\/)([^?]*\?).+$/s, '$1$2…')
}
