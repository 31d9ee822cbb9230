import { readFileSync } from 'node:fs'
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls'
import { StartupError } from '@warder/base'

/** The authorities of connections; empty: those of Node. */
export type Trust = { readonly secureContext?: SecureContext }

/**
 * The default authorities and those of a file, for all connections of a client. They are read once: reading them for
 * each connection took 0.8 MiB outside of the heap, which is freed only at a garbage collection.
 * @param caFile PEM
 * @throws StartupError when it cannot be read
 */
export function loadTrustedAuthorities(caFile: string | undefined): Trust {
  if (caFile === undefined) return {}
  try {
    const ca = [...rootCertificates, readFileSync(caFile, 'utf8')]
    return { secureContext: createSecureContext({ ca }) }
  } catch (error) {
    throw new StartupError(`cannot read ${caFile}: ${error instanceof Error ? error.message : error}`)
  }
}
