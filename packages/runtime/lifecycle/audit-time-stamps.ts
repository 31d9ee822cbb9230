import { createTimestampAuthority, readTimestampAnchors } from '@warder/audit'
import { inHome, StartupError } from '@warder/base'
import { createPlainFetch, readOutboundAccess } from '@warder/outbound'
import type { RuntimeConfig } from './launch.ts'

/** For an authority with many requests at once. */
const timeoutMs = 30_000
/** A token contains a chain of certificates. */
const maxBytes = 262_144

/**
 * Asks the time-stamping authority of the settings; undefined = there is none.
 * @throws StartupError when its certificates cannot be read
 */
export function createAuditTimestamps(
  config: RuntimeConfig,
  home: string,
): ((signature: string) => Promise<string>) | undefined {
  const { audit_timestamp_url: url, audit_timestamp_ca_file: file } = config
  if ((url === undefined) !== (file === undefined))
    throw new StartupError(
      'audit_timestamp_url and audit_timestamp_ca_file must be set together: only verified time stamps are stored',
    )
  if (url === undefined || file === undefined) return undefined
  const fetch = createPlainFetch({
    ...readOutboundAccess(config, home),
    ports: 'any',
    maxRedirects: 0,
    maxBytes,
    timeoutMs,
  })
  return createTimestampAuthority(url, readTimestampAnchors(inHome(home, file)), fetch)
}
