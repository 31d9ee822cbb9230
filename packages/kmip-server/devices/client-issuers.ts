import { readFile, stat } from 'node:fs/promises'
import { issuerId } from '@warder/authority'
import type { Clock, Logger } from '@warder/base'
import { parseCertificate, pemText } from '@warder/pki'
import type { Database } from '@warder/storage'
import { isOwnIssuer } from './device-store.ts'

/**
 * The authorities of this service whose client certificates it accepts (`clients_ca_cert_file`), see `issuerId`: other
 * users' authorities may issue certificates for any name, but these are not accepted.
 */
export type ClientIssuers = () => Promise<readonly string[]>

/** Authorities of one file that are looked up. */
const maxIssuers = 64
/** The file and the authorities of this service are read again after this time. */
const readAgainMs = 10_000

/** @param file PEM; undefined: no client certificate is accepted */
export function createClientIssuers(parts: {
  readonly db: Database
  readonly clock: Clock
  readonly log: Logger
  readonly file: string | undefined
}): ClientIssuers {
  const { db, clock, log, file } = parts
  let names: { readonly modifiedAt: number; readonly issuers: readonly string[] } | undefined
  let known: { readonly at: number; readonly issuers: readonly string[] } | undefined
  async function read(path: string): Promise<readonly string[]> {
    const modifiedAt = (await stat(path)).mtimeMs
    if (names?.modifiedAt !== modifiedAt) names = { modifiedAt, issuers: readIssuers(await readFile(path)) }
    const own = await Promise.all(names.issuers.map((issuer) => isOwnIssuer(db, issuer)))
    return names.issuers.filter((_, index) => own[index])
  }
  return async () => {
    if (file === undefined) return []
    const now = clock.monotonic()
    if (known !== undefined && now - known.at < readAgainMs) return known.issuers
    try {
      known = { at: now, issuers: await read(file) }
    } catch (error) {
      // The handshake keeps the previous authorities, too.
      log.warn({ error, file }, 'the authorities of client certificates cannot be read')
      known = { at: now, issuers: known?.issuers ?? [] }
    }
    return known.issuers
  }
}

function readIssuers(file: Uint8Array): readonly string[] {
  const blocks = pemText(file, 'CERTIFICATE').matchAll(/-----BEGIN CERTIFICATE-----([^-]+)-----END/g)
  const issuers = [...blocks].map(([, base64 = '']) => {
    const { subject, spki } = parseCertificate(Buffer.from(base64, 'base64'))
    return issuerId({ name: subject, spki })
  })
  return [...new Set(issuers)].slice(0, maxIssuers)
}
